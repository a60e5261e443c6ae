"""The table of formats: a row each (see `rows`); `beside_rows` has what a row cannot say.

Conventions of all: states are cumulative, user turns are numbered from 0, values are kept as written. What differs is
said at the row.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from dstbench.readers import beside_rows as beside
from dstbench.readers.format import Format
from dstbench.readers.rows import Row
from dstbench.readers.states import in_order, noting_gaps

_ABSENT_IN_MULTIWOZ: Final = ("", "not mentioned", "未提及", "未提到", "没有提到")

ROWS: Final[dict[str, Format]] = {
    row.name: row.format()
    for row in (
        # Its states are only the wrong slots, whose values change with every change of these, as the authors' script
        # counts each as a new error. This gives JGA, FGA and the slot accuracy over all slots of the file.
        Row(
            name="fga-trippy",
            title="FGA's result file of TripPy: which slots are right, no states; JGA, SA and FGA only",
            example='{"MUL9901.json": {"0": [1, 1, 1], "1": [1, 0, 1]}}',
            path="{dialogue} {turn}", gold=":marks", pred=":marks of wrong", marks=(), matches=beside.are_marks,
            after=beside.after_marks,
        ),
        # every slot is always there; turns are skipped, and the others numbered consecutively
        Row(
            name="star",
            title="STAR, ASSIST (preds_full_<n>.json)",
            example=(
                '{"MUL9901.json_0": {"hotel-area": {"pred": "north", "gt": "north"}, '
                '"hotel-name": {"pred": "none", "gt": "none"}}}'
            ),
            path="{dialogue_turn}", gold=":gt", pred=":pred", marks=(), matches=beside.is_star, omits=("none",),
            after=beside.refuse_wrong_slots_only,
        ),
        Row(
            name="gtpr",
            title="FGA and GCA result files",
            example='{"MUL9901.json": {"0": {"gt": {"hotel": {"area": "north"}}, "pr": {"hotel": {"area": "north"}}}}}',
            path="{dialogue} {turn}", gold="gt:nested", pred="pr:nested", marks=(), matches=beside.is_gtpr,
        ),
        Row(
            name="trade",
            title="TRADE (all_prediction_TRADE.json) and descendants",
            example=(
                '{"MUL9901.json": {"0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["hotel-area-north"]}}}'
            ),
            path="{dialogue} {turn}", gold="turn_belief:pairs", pred="pred_bs_*:pairs",
        ),
        Row(
            name="t5dst",
            title="T5DST, TransferQA (<prefix>_prediction.json)",
            example=(
                '{"MUL9901.json": {"domain": "hotel", "turns": '
                '{"0": {"turn_belief": ["hotel-area-north"], "pred_belief": ["hotel-area-north"]}}}}'
            ),
            path="{dialogue} turns {turn}", gold="turn_belief:pairs", pred="pred_belief:pairs",
        ),
        # turns outside five domains are skipped
        Row(
            name="som",
            title="SOM-DST, Transformer-DST (preds_<epoch>.json)",
            example='{"MUL9901.json_0": [["hotel-area-north"], ["hotel-area-north"]]}',
            path="{dialogue_turn}", gold="1:pairs", pred="0:pairs", marks=(), matches=beside.is_som,
            after=beside.note_leaked_gold,
        ),
        Row(
            name="simpletod",
            title="SimpleTOD (<exp>_test_context[history=full_history]_nocarry.json)",
            example=(
                '{"MUL9901.json": {"target_turn_belief": [["hotel area north"]], '
                '"generated_turn_belief": [["hotel area north", "hotel name not mentioned"]]}}'
            ),
            path="{dialogue} (target_turn_belief,generated_turn_belief)[turn]",
            gold="target_turn_belief:triples", pred="generated_turn_belief:triples", marks=(),
            omits=("not mentioned",),
            after=beside.note_oracle,
        ),
        # likewise, a value that contains a comma is split there
        Row(
            name="parlai",
            title="ParlAI world logs of DST-BART (Qian et al. 2021)",
            example=(
                '{"dialog": [[{"dial_id": "mul9901.json", "turn_num": 0, "eval_labels": ["hotel area north,"]}, '
                '{"text": "hotel area north,"}]]}'
            ),
            path="dialog [dialogue=0.dial_id,turn=0.turn_num]", lines=True, gold=":labels", pred="1.text:commas",
            omits=("not mentioned",), said=("", "0.text"), divide=beside.last_in_world_log,
            options={"sniff": beside.is_world_log, "finish": noting_gaps(
                ": is it the sample of 3,000 validation turns that ParlAI evaluates unless told otherwise?"
            )},
        ),
        # a value that contains a comma is split there, as in the authors' code
        Row(
            name="checkdst",
            title="CheckDST predictions",
            example='{"dial_id": "mul9901-0", "gold": "hotel area north,", "pred": "hotel area north,"}',
            path="<dialogue-turn=dial_id>", lines=True, gold="gold:commas", pred="pred:commas",
            marks=("dial_id", "gold", "pred"),
            matches=lambda turn: all(str(turn.content[side])[:1] not in "[{" for side in ("gold", "pred")),
            omits=("not mentioned",),
        ),
        # a value with the name of a slot is split there, as in the authors' code, which also loses the last turn
        Row(
            name="pptod",
            title="PPTOD (test_joint_accuracy_<x>.json)",
            example='{"mul9901": {"0": {"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}}}',
            path="{dialogue} {turn}", gold="bspn:span", pred="bspn_gen:span", omits=("not mentioned",),
        ),
        Row(
            name="fnctod",
            title="FnCTOD (test…-<model>.json)",
            example='{"mul9901": [{"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}]}',
            path="{dialogue} [turn]", gold="bspn:span", pred="bspn_gen:span", omits=("not mentioned", "not present"),
            after=beside.note_unreached,
        ),
        # every slot is always there
        Row(
            name="kage",
            title="KAGE-GPT2 (test_results.json)",
            example=(
                '[{"example_id": "MUL9901-0", "bs_pred_dict": {"hotel area": "north"}, '
                '"bs_ref_dict": {"hotel area": "north"}}]'
            ),
            path="[dialogue-turn=example_id]", gold="bs_ref_dict:flat", pred="bs_pred_dict:flat", omits=("none",),
            options={"finish": noting_gaps(
                "; KAGE leaves out those that it cannot parse and counts them as wrong, "
                "as --gold FILE --missing wrong does"
            )},
        ),
        Row(
            name="convlab",
            title="ConvLab-3 (predictions.json)",
            example=(
                '[{"dialogue_id": "MUL9901.json", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}, '
                '"predictions": {"state": {"hotel": {"area": "north"}}}}]'
            ),
            path="[dialogue=dialogue_id:any,turn=utt_idx/2]", gold="state:nested", pred="predictions.state:nested",
            marks=("predictions", "state", "utt_idx"), omits=("",), said=("context.-1.utterance", "utterance"),
            document=None,
        ),
        # models write the values, so they are read loosely; gold files have no `pred`
        Row(
            name="icdst",
            title="IC-DST, RefPyDST (running_log.json; gold mw2x_100p_test.json)",
            example='[{"ID": "MUL9901.json", "turn_id": 0, "slot_values": {"hotel-area": "north"}, "pred": {}}]',
            path="[dialogue=ID,turn=turn_id]", gold="slot_values:written", pred="pred?:written or null",
            marks=("ID", "turn_id", "slot_values"), matches=beside.is_icdst,
            said=("dialog.sys.-1", "dialog.usr.-1"), options={"finish": beside.doubt_gold},
        ),
        # a turn without `state` has no prediction, which is not the same as an empty state
        Row(
            name="mwzeval",
            title="MultiWOZ_Evaluation (mwzeval) predictions; need --gold",
            example='{"mul9901": [{"response": "…", "state": {"hotel": {"area": "north"}}}]}',
            path="{dialogue} [turn]", pred="state?:written nested or null", marks=(), matches=beside.is_mwzeval,
            after=beside.refuse_responses,
        ),
        # items do not name turns; they are matched with gold's turns in order
        Row(
            name="dstc10",
            title="DSTC10 track 2, predictions and labels.json; need --gold, in its order",
            example='[{"hotel": {"semi": {"area": ["north"]}, "book": {"people": ["3"]}}}]',
            path="[dialogue]", pred=":semi/book lists", marks=(),
            matches=beside.is_dstc10, omits=("",),
            options={"finish": lambda states: replace(
                states, gold=states.pred, pred=None, complete=partial(in_order, states)
            )},
        ),
        Row(
            name="trade-gold",
            title="TRADE's preprocessed MultiWOZ (<split>_dials.json), gold",
            example=(
                '[{"dialogue_idx": "MUL9901.json", "dialogue": [{"turn_idx": 0, '
                '"belief_state": [{"slots": [["hotel-area", "north"]], "act": "inform"}]}]}]'
            ),
            path="[dialogue=dialogue_idx] dialogue [turn=turn_idx]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), document=beside.ActsDocument,
        ),
        Row(
            name="t5dst-gold",
            title="T5DST's preprocessed MultiWOZ (<split>_dials.json), gold",
            example='[{"dial_id": "MUL9901.json", "turns": [{"state": {"slot_values": {"hotel-area": "north"}}}]}]',
            path="[dialogue=dial_id] turns [turn]", gold="state.slot_values:flat",
            marks=(), said=("system", "user"), is_silent_first=True,
        ),
        Row(
            name="simpletod-gold",
            title="SimpleTOD's preprocessed MultiWOZ (<split>_dials_lexicalized.json), gold",
            example='{"MUL9901.json": {"usr": ["…"], "sys": ["…"], "bstate": [[["hotel", "area", "north"]]]}}',
            path="{dialogue} (bstate)[turn]", gold="bstate:lists", omits=("not mentioned",), absent="not mentioned",
            said=("sys", "usr"),
        ),
        # the state after user turn t is the metadata of the system turn that follows it; every slot is always there
        Row(
            name="multiwoz",
            title="MultiWOZ 2.0, 2.1, 2.3, 2.4 (data.json, or <split>_dials.json of raw dialogues), gold",
            example=(
                '{"MUL9901.json": {"log": [{"metadata": {}}, {"metadata": {"hotel": {"semi": {"area": "north", '
                '"name": "not mentioned"}, "book": {"booked": [], "day": "friday"}}}}]}}'
            ),
            path="{dialogue} log [>]", gold="metadata:semi/book", omits=_ABSENT_IN_MULTIWOZ, absent="not mentioned",
            said=("text",), after=beside.after_multiwoz,
            unanswered="{:,} dialogues end with a user turn, which has no state; it is left out",
        ),
        # alternatives of gold are joined; of a prediction's, only the first is read, as in the official evaluation
        Row(
            name="sgd",
            title="SGD, MultiWOZ 2.2: the dataset, or predictions in its layout (as --gold: gold)",
            example=(
                '[{"dialogue_id": "1_00000", "turns": [{"speaker": "USER", "frames": [{"service": "Hotels_1", "state": '
                '{"slot_values": {"destination": ["Palo Alto"]}}}]}]}]'
            ),
            path="[{dialogue=dialogue_id}] turns [speaker:USER/User/user|SYSTEM/System/system]",
            gold="frames:frames", pred="frames:first of frames",
            marks=("frames",), said=("utterance",), after=beside.after_sgd,
            options={"sharded": True},
        ),
        Row(
            name="convlab-gold",
            title="ConvLab-3's unified datasets (data.json, dialogues.json), gold",
            example=(
                '[{"dialogue_id": "multiwoz21-test-0", "original_id": "MUL9901.json", "data_split": "test", "turns": '
                '[{"speaker": "user", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}}]}]'
            ),
            path="[dialogue=dialogue_id] turns [speaker:user|system]", gold="state:nested", marks=("utt_idx",),
            omits=("",), absent="", said=("utterance",), naming=beside.named_in_convlab,
            after=beside.after_convlab,
        ),
        Row(
            name="woz",
            title="WOZ 2.0 (woz_<split>_en.json), gold",
            example=(
                '[{"dialogue_idx": 9901, "dialogue": [{"turn_idx": 0, "belief_state": '
                '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]'
            ),
            path="[dialogue=dialogue_idx:int] dialogue [turn=turn_idx]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), domain="restaurant", document=beside.ActsDocument,
        ),
        Row(
            name="glad",
            title='GLAD\'s copy of WOZ 2.0 ({"dialogues": …}), gold',
            example=(
                '{"dialogues": [{"dialogue_id": 9901, "turns": [{"turn_id": 0, "transcript": [], "belief_state": '
                '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]}'
            ),
            path="dialogues [dialogue=dialogue_id:int] turns [turn=turn_id]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), domain="restaurant", document=None,
        ),
        Row(
            name="simulated",
            title="sim-M and sim-R (train.json, dev.json, test.json), gold",
            example=(
                '[{"dialogue_id": "movies_00009901", "turns": [{"user_utterance": {"text": ""}, "dialogue_state": '
                '[{"slot": "movie", "value": "the pine cone"}]}]}]'
            ),
            path="[dialogue=dialogue_id] turns [turn]", gold="dialogue_state:objects",
            said=("system_utterance.text", "user_utterance.text"), domain=beside.simulated_domain,
        ),
        # the constraints as the user gave them; `sys_state`, beside them, is what the system then searched for
        Row(
            name="crosswoz",
            title="CrossWOZ (train.json, val.json, test.json), gold",
            example=(
                '{"9901": {"messages": [{"role": "usr", "content": ""}, {"role": "sys", "content": "", '
                '"sys_state_init": {"酒店": {"名称": "", "评分": "4.5分以上", "selectedResults": []}}}]}}'
            ),
            path="{dialogue} messages [role:usr|sys>]", gold="sys_state_init:nested lists", omits=("",), absent="",
            said=("content",),
            unanswered="{:,} user messages without an answer of the system, which has the state; left out",
        ),
        Row(
            name="risawoz",
            title="RiSAWOZ, gold",
            example=(
                '[{"dialogue_id": "hotel_goal_9901", "dialogue": [{"turn_id": 0, "user_utterance": "", '
                '"system_utterance": "", "belief_state": {"inform slot-values": {"酒店-星级": "4"}}}]}]'
            ),
            path="[dialogue=dialogue_id] dialogue [turn=turn_id]", gold="belief_state.inform slot-values:flat",
            marks=("belief_state",), matches=lambda turn: "inform slot-values" in turn.content["belief_state"],
            said=("<system_utterance", "user_utterance"),
        ),
        Row(
            name="dstc2-gold",
            title="DSTC2 (label.json of each call), gold",
            example='{"session-id": "voip-1", "turns": [{"turn-index": 0, "goal-labels": {"pricerange": "cheap"}}]}',
            path="<dialogue=session-id> turns [turn=turn-index]", gold="goal-labels:flat", domain="restaurant",
            said=("", "transcription"), document=None, options={"sharded": True},
        ),
        Row(
            name="dstc2",
            title="DSTC2 trackers; need --gold",
            example=(
                '{"sessions": [{"session-id": "voip-1", "turns": [{"goal-labels": {"pricerange": {"cheap": 0.9}}, '
                '"goal-labels-joint": [{"score": 0.9, "slots": {"pricerange": "cheap"}}]}]}]}'
            ),
            path="sessions [dialogue=session-id] turns [turn]", pred=":best goals", marks=("goal-labels",),
            domain="restaurant",
        ),
    )
}  # fmt: skip
