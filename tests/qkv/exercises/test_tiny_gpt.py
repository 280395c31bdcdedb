"""The exercise of weights: its bars, its bounds, and that each mistake is told by its number. Nothing is trained here:
weights are kept in answers/capstone, or made from those."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from proctor import WeightsJudge
from proctor.examining.result import Result
from proctor.examining.tensor_file import BadFile, Weights, read_tensors, write_tensors
from qkv.authoring.write.sample_answers import sample_weights
from qkv.exercises.capstone import tiny_gpt as asked
from qkv.exercises.capstone.tiny_gpt import FLOOR, NOTHING, WORDS_ALONE, exercise, layout, sizes_of, weights_of
from qkv.model.capstone import TinyGPT, next_token_loss
from qkv.tasks import ledgers

ANSWERS = Path(__file__).parents[3] / "answers"
WRONG = {path.stem: path for path in sample_weights(ANSWERS, "tiny_gpt", "wrong")}
SALT = "test"


@pytest.fixture(scope="module")
def weights_judge() -> WeightsJudge:
    return WeightsJudge(exercise, SALT)


@pytest.fixture(scope="module")
def right() -> Weights:
    (path,) = sample_weights(ANSWERS, "tiny_gpt", "right")
    return read_tensors(path.read_bytes(), layout)


@pytest.fixture(scope="module")
def passed(weights_judge: WeightsJudge, right: Weights) -> Result:
    return weights_judge.judge(write_tensors(right))


def test_kept_weights_pass(passed: Result) -> None:
    assert (passed.state, passed.score, passed.probes) == ("passed", 1.0, 3), passed.message
    assert "nats a word; at most 0.700 is asked" in passed.message
    assert "●" in passed.message


def test_the_loss_is_that_of_the_chapter(weights_judge: WeightsJudge, right: Weights, passed: Result) -> None:
    ids = weights_judge.data.read
    found = next_token_loss(asked.build(right), ids, torch.full((len(ids),), ids.shape[1]))
    assert passed.evidence[0].startswith(f"loss: {found.item():.3f} ")


def test_what_it_writes_is_what_the_reference_would_write(weights_judge: WeightsJudge, right: Weights) -> None:
    """Drawn by the same distribution: at a temperature near 0 both take the likeliest word."""
    data = weights_judge.data
    model = asked.build(right)
    prompt = data.entered[:20, : asked.PROMPT]
    ids = prompt
    for _ in range(ids.shape[1], ledgers.LENGTH):
        ids = torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)
    true = sum(ledgers.true(story) for story in ids[:, 1:].tolist())
    assert true >= 19


def test_ledgers_are_fresh_for_every_salt() -> None:
    one, other = (WeightsJudge(exercise, salt).data for salt in "ab")
    known = {tuple(row) for row in asked.published().tolist()}
    assert not torch.equal(one.read, other.read)
    assert not any(tuple(row) in known for row in one.read.tolist())


@pytest.mark.parametrize("name", exercise.examples)
def test_a_mistake_made_from_right_weights_is_named(weights_judge: WeightsJudge, right: Weights, name: str) -> None:
    mistake, make = exercise.examples[name]
    result = weights_judge.judge(write_tensors(make(right)))
    assert result.misconceptions == (mistake,), result.message
    assert result.score < 1
    assert result.explanations[0].reason


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_that_took_a_training_is_named(weights_judge: WeightsJudge, name: str) -> None:
    result = weights_judge.judge(WRONG[name].read_bytes())
    assert result.misconceptions == (name.split("-")[1],), result.message
    assert result.score == 0


def test_every_mistake_is_shown_by_some_weights() -> None:
    shown = {mistake for mistake, _ in exercise.examples.values()} | {name.split("-")[1] for name in WRONG}
    assert shown >= exercise.misconceptions.keys()


EVIDENCE = {
    "as_it_was_made": "gains and biases of the norms are as they were made",
    "by_the_alphabet": "with the words sorted by the alphabet its loss is 0.6",
    "by_how_often": "with the words sorted by how often they occur its loss is 0.6",
    "by_first_appearance": "with the words in the order in which they first occur its loss is 0.6",
    "end_last": "with the words with `<end>` last its loss is 0.6",
    "heads_doubled": "with n_heads = 2 its loss is 0.6",
    "overflowing": "its loss is no finite number",
}


@pytest.mark.parametrize(("name", "evidence"), EVIDENCE.items())
def test_the_evidence_has_its_number(weights_judge: WeightsJudge, right: Weights, name: str, evidence: str) -> None:
    assert evidence in weights_judge.judge(write_tensors(exercise.examples[name][1](right))).evidence[0]


def test_a_part_of_the_measures_earns_a_part_of_the_points(weights_judge: WeightsJudge, right: Weights) -> None:
    """Logits that are too flat: the likeliest word is still the right one."""
    flat = asked.changed(right, "out.weight", right.tensors["out.weight"] * 0.25)
    result = weights_judge.judge(write_tensors(flat))
    assert result.state == "not_yet"
    assert result.score == pytest.approx(1 / 3)
    assert result.misconceptions == ()


def test_levels_are_what_their_words_say() -> None:
    assert pytest.approx(0.6003, abs=1e-4) == FLOOR
    assert pytest.approx(1.535, abs=1e-3) == NOTHING
    ids = ledgers.draw(4000, torch.Generator().manual_seed(3))
    lost = right_guesses = 0.0
    for row in ids[:, 1:-1].reshape(-1, 11, 4).tolist():
        for column in (0, 1, 2):
            entered = [line[column] for line in row[:3]]
            lost -= sum(math.log(entered.count(line[column]) / 3) for line in row[3:])
        for column in (1, 2):
            entered = [line[column] for line in row[:3]]
            best = max(entered, key=entered.count)
            right_guesses += sum(line[column] == best for line in row[3:])
    entries = FLOOR * 45 - 8 * math.log(3)
    assert (lost / len(ids) + entries) / 45 == pytest.approx(WORDS_ALONE, abs=2e-3)
    assert right_guesses / len(ids) / 16 == pytest.approx(asked.CHANCE, abs=5e-3)


METADATA = {"d_model": "16", "n_heads": "2", "n_layers": "1", "d_ff": "24"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_heads": None}, "Its metadata do not say n_heads"),
        ({"n_heads": "two"}, "something for n_heads that is not a whole number"),
        ({"n_layers": "0"}, "something for n_layers that is not a whole number"),
        ({"n_layers": "5"}, "n_layers = 5; at most 4 is asked for"),
        ({"d_model": "130"}, "d_model = 130; at most 128"),
        ({"d_model": "9" * 4000}, "something for d_model that is not a whole number"),
        ({"d_model": "١٦"}, "something for d_model that is not a whole number"),
        ({"d_ff": "513"}, "d_ff = 513; at most 512"),
        ({"n_heads": "3"}, "d_model / n_heads has to be an even number"),
        ({"n_heads": "16"}, "d_model / n_heads has to be an even number"),
    ],
)
def test_sizes_are_bounded(change: dict[str, str | None], sentence: str) -> None:
    metadata = {name: text for name, text in (METADATA | change).items() if text is not None}
    with pytest.raises(BadFile) as refusal:
        sizes_of(metadata)
    assert sentence in str(refusal.value)


def test_a_layout_is_that_of_the_reference() -> None:
    model = TinyGPT(27, 16, 2, 1, 24)
    assert layout(METADATA) == {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    assert weights_of(model).metadata == METADATA


def test_the_largest_weights_that_are_asked_for_fit_into_a_file(weights_judge: WeightsJudge) -> None:
    content = write_tensors(weights_of(TinyGPT(27, 128, 64, 4, 512)))
    assert len(content) < 4 * 2**20
    assert weights_judge.judge(content).misconceptions == ("untrained",)


def test_judging_leaves_the_random_numbers_of_the_notebook_alone(weights_judge: WeightsJudge, right: Weights) -> None:
    state = torch.get_rng_state()
    weights_judge.judge(write_tensors(right))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("change", [lambda m: torch.nn.Linear(3, 4), lambda m: m.layers])
def test_what_is_no_model_of_ours_is_refused_in_words(change: Callable[[TinyGPT], torch.nn.Module]) -> None:
    with pytest.raises(TypeError, match="hand_in takes your trained TinyGPT"):
        weights_of(change(TinyGPT(27, 16, 2, 1, 24)))


def test_the_sentences_hold_no_name_of_ours(
    weights_judge: WeightsJudge, right: Weights, internals: Callable[[str], list[str]]
) -> None:
    for _, make in exercise.examples.values():
        assert not internals(weights_judge.judge(write_tensors(make(right))).message)


def test_reading_in_parts_is_reading(weights_judge: WeightsJudge, right: Weights) -> None:
    ids, model = weights_judge.data.read[:120], asked.build(right)
    whole = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    assert asked.loss_on(model, ids) == pytest.approx(float(whole), abs=1e-5)
