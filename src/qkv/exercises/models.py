"""Chapter 12: byte pairs, BERT's masking, T5's spans, perplexity, sampling, ViT's patches, LoRA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from proctor import Exercise
from proctor.inside.inputs import distinct, generator, integers, normal, number, permutation, seeded, whole
from proctor.inside.properties import keeps_inputs, usual
from qkv.model.models import (
    LoRALinear,
    PatchEmbedding,
    corrupt_spans,
    encode_bpe,
    mask_tokens,
    perplexity,
    sampling_probabilities,
    train_bpe,
)

Seen = dict[str, Any]
Pair = tuple[int, int]

# train_bpe ------------------------------------------------------------------------------------------------------------

training = Exercise(
    train_bpe,
    section="Learning the pieces",
    minutes=20,
    difficulty=2,
    why="Every language model reads pieces that were counted, not words: this is where they come from.",
    points=2.0,
    hints=[
        'Do it by hand for ["aab", "ab"]: which bytes stand side by side, how often, and what is left after one merge?',
        "Keep every word as a list of ids. A step counts all neighbours of all words, chooses, and rewrites the words.",
        "The most frequent pair, and of equals the smallest: compare (-count, pair), or take the smallest of the most "
        "frequent.",
        "To rewrite a word, walk from its left end; where the pair stands, write the new id and go on behind it.",
    ],
    equivalents={
        "texts = [list(word.encode()) for word in words]  ->  texts = [word.encode() for word in words]": (
            "bytes are numbers already, and the first merge makes lists of them"
        ),
    },
)


def drawn_words(count: int, longest: int, alphabet: str, seed: str) -> list[str]:
    """Words of 0 … longest letters."""
    lengths = integers(0, longest + 1, count, seed=f"{seed}: lengths").tolist()
    letters = integers(0, len(alphabet), count, longest, seed=f"{seed}: letters").tolist()
    return ["".join(alphabet[i] for i in row[:length]) for row, length in zip(letters, lengths, strict=True)]


def letters(count: int, seed: str) -> str:
    """Different small letters of the Latin alphabet."""
    return "".join(map(chr, distinct(ord("a"), ord("z") + 1, count, seed=seed)))


def listed(merges: Any) -> Tensor:
    """Merges as a tensor (merge, 2); a pair may be a tuple or a list."""
    if not isinstance(merges, list | tuple):
        raise TypeError("expected a list of pairs")
    if not all(isinstance(part, int) for pair in merges for part in pair):
        raise TypeError("expected pairs of ids, each a Python int")
    return torch.tensor([list(pair) for pair in merges], dtype=torch.int64).reshape(-1, 2)


@training.probe
def words_of_three_letters(train_bpe: Any) -> Seen:
    """thirty words of three different letters"""
    words = drawn_words(30, 6, letters(3, "which"), "words")
    return {"merges": listed(train_bpe(words, whole(6, 12, seed="n")))}


@training.probe
def runs_of_a_letter(train_bpe: Any) -> Seen:
    """words in which a letter is repeated, such as aaa"""
    a, b, c, d = list(letters(4, "which of the runs"))
    runs, often = distinct(3, 9, 3, seed="runs"), whole(3, 6, seed="often")
    one_by_one = often + 2 + sum(run // 2 for run in runs)  # how often aa is there if no two overlap
    words = [a * 3] * often + [a * run for run in runs] + [b + c] * (one_by_one + 1) + [d + a * 3 + b] * 2
    return {"merges": listed(train_bpe(words, whole(7, 10, seed="n of runs")))}


@training.probe
def twice_in_a_word(train_bpe: Any) -> Seen:
    """words in which a pair stands twice, apart from each other"""
    a, b, c, d, e = list(letters(5, "which twice"))
    often = whole(3, 8, seed="how often")
    words = [a + b + c + a + b] * often + [d + e] * (often + 1) + drawn_words(4, 4, d + c, "beside")
    return {"merges": listed(train_bpe(words, whole(4, 8, seed="n of twice")))}


@training.probe
def beyond_english(train_bpe: Any) -> Seen:
    """words with letters of two, three and four bytes"""
    return {"merges": listed(train_bpe(drawn_words(24, 5, "aAé力🙂", "far words"), whole(8, 14, seed="far n")))}


@training.probe
def frequent_words(train_bpe: Any) -> Seen:
    """a few words, some of which occur often"""
    some = drawn_words(6, 5, letters(4, "which of the frequent"), "frequent")
    order = integers(0, 6, 40, seed="order").tolist()
    words = [some[i * j // 5] for i, j in zip(order, order[::-1], strict=True)]
    return {"merges": listed(train_bpe(words, whole(4, 9, seed="n of frequent")))}


@training.probe
def until_nothing_is_left(train_bpe: Any) -> Seen:
    """more merges than there are pairs; words of one letter, empty ones, no words, no merges"""
    alphabet = letters(5, "which of the last")
    words = [alphabet[0], "", alphabet[1:4], alphabet[3:] + alphabet[0], "", alphabet[::-2]]
    return {
        "merges": listed(train_bpe(list(words), whole(40, 60, seed="too many"))),
        "of words without pairs": listed(train_bpe(["", alphabet[0], ""], 3)),
        "of no words": listed(train_bpe([], 2)),
        "none asked for": listed(train_bpe(list(words), 0)),
    }


@training.property
def words_after_the_call(train_bpe: Any) -> Seen:
    """a list of words that the caller goes on using

    Your code changes the list of words that it was given. The caller still needs it: make lists of your own.
    """
    words = drawn_words(8, 5, letters(3, "which"), "kept words")
    before = list(words)
    train_bpe(words, 4)
    return {"the words are the same": words == before}


def in_bytes(words: Sequence[str]) -> list[list[int]]:
    return [list(word.encode()) for word in words]


def all_pairs(texts: list[list[int]]) -> Counter[Pair]:
    return Counter(pair for ids in texts for pair in pairwise(ids))


def something_left(counts: Counter[Pair]) -> bool:
    return bool(counts)


def commonest(counts: Counter[Pair]) -> Pair:
    return min(counts, key=lambda pair: (-counts[pair], pair))


def glued(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    result: list[int] = []
    for part in ids:
        if result and [result[-1], part] == list(pair):
            result[-1] = new
        else:
            result.append(part)
    return result


def from_256(i: int) -> int:
    return 256 + i


@training.assembled
def trained_in_steps(
    words: Sequence[str],
    n_merges: int,
    *,
    split: Any = in_bytes,
    count: Any = all_pairs,
    goes_on: Any = something_left,
    choose: Any = commonest,
    glue: Any = glued,
    new_id: Any = from_256,
) -> list[Pair]:
    texts, merges = split(words), []
    for i in range(n_merges):
        counts = count(texts)
        if not goes_on(counts):
            break
        best = choose(counts)
        texts = [glue(ids, best, new_id(i)) for ids in texts]
        merges.append(best)
    return merges


@training.instead_of("split")
def characters_for_bytes(words: Sequence[str]) -> list[list[int]]:
    """You begin with characters, not with bytes.

    There are over a million characters, and their numbers collide with your new ids. Of bytes there are 256, and every
    text is made of them.
    """
    return [list(map(ord, word)) for word in words]


@training.instead_of("split")
def each_word_once(words: Sequence[str]) -> list[list[int]]:
    """You count every different word once, however often it occurs.

    Frequent words are what the pieces should fit. A word that occurs a hundred times has a hundred votes.
    """
    return in_bytes(list(dict.fromkeys(words)))


@training.instead_of("split")
def one_long_text(words: Sequence[str]) -> list[list[int]]:
    """You put all words together into one text, so that pairs reach from one word into the next.

    The end of a word and the beginning of the next are neighbours by chance. Pairs are counted and merged inside words.
    """
    return in_bytes(["".join(words)])


@training.instead_of("split")
def space_before_each(words: Sequence[str]) -> list[list[int]]:
    """You put a space before every word.

    That is how GPT-2 cuts a text into words; here the words come as they are meant.
    """
    return in_bytes([" " + word for word in words])


@training.instead_of("split")
def other_letters_dropped(words: Sequence[str]) -> list[list[int]]:
    """You drop every letter that is not ASCII.

    Then most of the world's texts are empty. UTF-8 has bytes for every letter.
    """
    return [list(word.encode("ascii", errors="ignore")) for word in words]


@training.instead_of("count")
def overlaps_counted_once(texts: list[list[int]]) -> Counter[Pair]:
    """You leave out pairs that overlap: in "aaa" you count "aa" once.

    As a text's `count` does. Here every place counts at which the two stand side by side: there are two in "aaa".
    """
    counts: Counter[Pair] = Counter()
    for ids in texts:
        counted_at: dict[Pair, int] = {}
        for at, pair in enumerate(pairwise(ids)):
            if counted_at.get(pair) != at - 1:
                counts[pair] += 1
                counted_at[pair] = at
    return counts


@training.instead_of("count")
def once_a_word(texts: list[list[int]]) -> Counter[Pair]:
    """You count a pair at most once in each word.

    A pair that stands twice in a word saves two ids there when it is merged.
    """
    return Counter(pair for ids in texts for pair in set(pairwise(ids)))


@training.instead_of("goes_on")
def stops_at_pairs_that_occur_once(counts: Counter[Pair]) -> bool:
    """You stop as soon as every pair occurs once only.

    Many implementations do. Here the pairs end when none is left, or when n_merges are learned.
    """
    return max(counts.values(), default=0) > 1


@training.instead_of("choose")
def first_seen(counts: Counter[Pair]) -> Pair:
    """Of equally frequent pairs you take the one that was seen first.

    `most_common` and `max` do so. Then the merges depend on the order of the words; the smallest pair does not.
    """
    return counts.most_common(1)[0][0]


@training.instead_of("choose")
def largest_of_equals(counts: Counter[Pair]) -> Pair:
    """Of equally frequent pairs you take the largest.

    `max` of (count, pair) does so: it wants both as large as possible. Ties go to the smallest pair.
    """
    return max(counts, key=lambda pair: (counts[pair], pair))


@training.instead_of("choose")
def rarest(counts: Counter[Pair]) -> Pair:
    """You merge the rarest pair.

    A merge shortens the text by one id wherever the pair stands, so the most frequent one shortens it most.
    """
    return min(counts, key=lambda pair: (counts[pair], pair))


@training.instead_of("glue")
def first_place_only(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You merge the first place in each word only.

    A merge is made wherever the pair stands; "banana" has "an" twice.
    """
    for at in range(len(ids) - 1):
        if ids[at : at + 2] == list(pair):
            return [*ids[:at], new, *ids[at + 2 :]]
    return ids


@training.instead_of("glue")
def from_the_right(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You merge from the right: "aaa" becomes "a" and "aa".

    Either would do, but training and encoding must agree, so one is fixed: from the left.
    """
    return glued(ids[::-1], list(pair)[::-1], new)[::-1]


@training.instead_of("glue")
def nothing_replaced(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You never put the new id into the words, so the same pair wins again and again.

    After each merge the words are shorter, and the new id has neighbours of its own.
    """
    return ids


@training.instead_of("new_id")
def one_too_high(i: int) -> int:
    """Your new ids begin at 257.

    Bytes are 0 … 255, so merge number 0 makes 256.
    """
    return 257 + i


@training.misconception
def ties_by_spelling(words: Sequence[str], n_merges: int) -> list[Pair]:
    """Of equally frequent pairs you take the one that is first in the alphabet, by what its pieces spell.

    The ids decide: a piece that was made later has a larger id, however it is spelled.
    """
    spelled = [bytes([b]) for b in range(256)]

    def choose(counts: Counter[Pair]) -> Pair:
        best = min(counts, key=lambda pair: (-counts[pair], spelled[pair[0]] + spelled[pair[1]], pair))
        spelled.append(spelled[best[0]] + spelled[best[1]])
        return best

    return trained_in_steps(words, n_merges, choose=choose)


@training.misconception
def commonest_pairs_of_bytes(words: Sequence[str], n_merges: int) -> list[Pair]:
    """You count once and take the most frequent pairs of bytes.

    After each merge the counts are others: pairs with the new id appear, and pairs that shared a byte with it vanish.
    """
    counts = all_pairs(in_bytes(words))
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


@training.misconception
def one_merge_too_many(words: Sequence[str], n_merges: int) -> list[Pair]:
    """You learn one merge more than was asked for.

    Look at the number of merges before you learn another one.
    """
    return train_bpe(words, n_merges + 1)


# encode_bpe -----------------------------------------------------------------------------------------------------------

encoding = Exercise(
    encode_bpe,
    section="Cutting a text",
    minutes=10,
    difficulty=2,
    why="It is the first thing that happens to any prompt, and the order of the merges decides the cut.",
    hints=[
        "At first the ids are the bytes of the text. What does the first merge change? Then the second?",
        "The merges are made in the order in which they were learned, each one everywhere before the next one's turn.",
        "Walk from the left and build a new list: if its last id and the next one are the pair, write the new id.",
    ],
)


def chained(a: int, b: int, c: int, d: int) -> list[Pair]:
    """Merges of four bytes that get into each other's way, and build on each other."""
    first = [(a, b), (b, c), (256, c), (d, d), (257, d), (a, 259), (258, 256), (260, a), (259, 259), (262, 258)]
    return [*first, (c, a), (b, 266)]


def drawn_text(length: int, alphabet: str, seed: str) -> str:
    return "".join(alphabet[i] for i in integers(0, len(alphabet), length, seed=seed).tolist())


@encoding.probe
def four_letters(encode_bpe: Any) -> Seen:
    """a text of four different letters, and twelve merges"""
    alphabet = letters(4, "which four")
    a, b, c, d = list(alphabet)
    text = drawn_text(90, alphabet, "text") + d + b + c + a + d  # a longer piece, bca, is known, but bc comes first
    return {"ids": encode_bpe(text, chained(*alphabet.encode()))}


@encoding.probe
def one_letter_again_and_again(encode_bpe: Any) -> Seen:
    """runs of one letter"""
    letter, other = letters(2, "which one").encode()
    merges = [(letter, letter), (256, other), (256, 256), (258, letter)]
    lengths = distinct(5, 22, 4, seed="lengths")
    return {
        f"ids of run {i}": encode_bpe(chr(letter) * length + chr(other) * (i % 2), list(merges))
        for i, length in enumerate(lengths)
    }


@encoding.probe
def across_spaces(encode_bpe: Any) -> Seen:
    """a text with spaces, at its ends too, and merges that join a space with a letter"""
    alphabet = letters(2, "which beside spaces")
    x, y = alphabet.encode()
    merges = [(32, x), (y, 32), (256, y), (257, 256), (32, 32), (258, x)]
    text = " " + drawn_text(60, alphabet + "  ", "spaced") + alphabet + " "
    return {"ids": encode_bpe(text, merges)}


@encoding.probe
def many_bytes_for_a_letter(encode_bpe: Any) -> Seen:
    """letters of two, three and four bytes, some of them merged"""
    e, power, smile = "é".encode(), "力".encode(), "🙂".encode()
    merges = [(e[0], e[1]), (power[0], power[1]), (smile[2], smile[3]), (257, power[2]), (256, 259), (259, ord("a"))]
    return {"ids": encode_bpe(drawn_text(40, "aé力🙂", "far"), merges)}


@encoding.probe
def merges_that_are_not_there(encode_bpe: Any) -> Seen:
    """merges of which some, the first too, do not occur in the text"""
    absent, *there = letters(4, "which is absent").encode()
    a, b, c = there
    merges = [(absent, a), (a, b), (absent, absent), (257, c), (256, b), (259, 259)]
    return {"ids": encode_bpe(drawn_text(50, bytes(there).decode(), "without"), merges)}


@encoding.probe
def hardly_anything(encode_bpe: Any) -> Seen:
    """no merges, a text of one letter, a text that is one pair, and an empty text"""
    alphabet = letters(4, "which hardly")
    merges = chained(*alphabet.encode())
    return {
        "without merges": encode_bpe(drawn_text(8, alphabet + "é ", "bare"), []),
        "one letter": encode_bpe(alphabet[1], list(merges)),
        "one pair": encode_bpe(alphabet[:2], list(merges)),
        "empty": encode_bpe("", list(merges)),
    }


encoding.property(keeps_inputs(lambda: ("abcdabcabcdd", chained(*b"abcd"))))


def merge_everywhere(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    return glued(ids, pair, new)


def bytes_of(text: str) -> list[int]:
    return list(text.encode())


def in_their_order(merges: Sequence[Pair]) -> list[tuple[int, Pair]]:
    return list(enumerate(merges))


@encoding.assembled
def encoded_in_steps(
    text: str,
    merges: Sequence[Pair],
    *,
    begin: Any = bytes_of,
    order: Any = in_their_order,
    glue: Any = merge_everywhere,
    new_id: Any = from_256,
) -> list[int]:
    ids = begin(text)
    for i, pair in order(merges):
        ids = glue(ids, pair, new_id(i))
    return ids


@encoding.instead_of("begin")
def begins_with_characters(text: str) -> list[int]:
    """You begin with characters, not with bytes.

    The number of "力" is 21147, which may be some merge's id. The merges were learned on bytes.
    """
    return list(map(ord, text))


@encoding.instead_of("begin")
def spaces_at_the_ends_dropped(text: str) -> list[int]:
    """You drop the spaces at the ends of the text.

    Decoding should give the very text back.
    """
    return list(text.strip().encode())


@encoding.instead_of("begin")
def begins_with_ascii(text: str) -> list[int]:
    """You drop every letter that is not ASCII.

    Decoding should give the very text back. UTF-8 has bytes for every letter.
    """
    return list(text.encode("ascii", errors="ignore"))


@encoding.instead_of("order")
def last_merge_first(merges: Sequence[Pair]) -> list[tuple[int, Pair]]:
    """You make the merges in the reverse of their order.

    Later merges build on what earlier ones have made; the other way round there is little for them to find.
    """
    return list(enumerate(merges))[::-1]


@encoding.instead_of("glue")
def one_place_for_each_merge(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You make each merge in one place only.

    A merge is made wherever the pair stands, before the next merge has its turn.
    """
    return first_place_only(ids, pair, new)


@encoding.instead_of("glue")
def merged_from_the_right(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You merge from the right: "aaa" becomes "a" and "aa".

    Training merged from the left, so other pieces come out than were learned.
    """
    return from_the_right(ids, pair, new)


@encoding.instead_of("glue")
def merged_with_overlap(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You use an id for two pairs: in "aaa" both the first two and the last two become a new id.

    Then the text gets longer when it is decoded. After a merge go on behind it.
    """
    hits = {at for at in range(len(ids) - 1) if ids[at : at + 2] == list(pair)}
    return [new if at in hits else part for at, part in enumerate(ids) if at in hits or at - 1 not in hits]


@encoding.instead_of("glue")
def last_two_overlooked(ids: list[int], pair: Sequence[int], new: int) -> list[int]:
    """You never merge the last two ids of a text: your loop ends one place early.

    With n ids there are n - 1 pairs; the last begins at n - 2.
    """
    if len(ids) < 2:
        return ids
    body, last = glued(ids[:-1], pair, new), ids[-1]
    return [*body, last]


@encoding.instead_of("new_id")
def ids_from_257(i: int) -> int:
    """Your new ids begin at 257.

    Bytes are 0 … 255, so merge number 0 makes 256.
    """
    return 257 + i


@encoding.instead_of("new_id")
def ids_from_255(i: int) -> int:
    """Your new ids begin at 255, which is a byte already.

    Bytes are 0 … 255, so merge number 0 makes 256.
    """
    return 255 + i


@encoding.misconception
def highest_rank_first(text: str, merges: Sequence[Pair]) -> list[int]:
    """Of the pairs that are there you always merge the one that was learned last.

    The one that was learned first is the most frequent, and what comes later builds on it.
    """
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    ids = list(text.encode())
    while there := [pair for pair in pairwise(ids) if pair in rank]:
        best = max(there, key=lambda pair: rank[pair])
        ids = glued(ids, best, 256 + rank[best])
    return ids


@encoding.misconception
def longest_piece_first(text: str, merges: Sequence[Pair]) -> list[int]:
    """You take the longest known piece that the rest of the text begins with.

    That is another tokenizer (WordPiece's). Byte pairs are merged in the order in which they were learned, and that may
    cut elsewhere.
    """
    spelled = [bytes([b]) for b in range(256)]
    for a, b in merges:
        spelled.append(spelled[a] + spelled[b])
    number_of = {piece: i for i, piece in reversed(list(enumerate(spelled)))}
    rest, ids = text.encode(), []
    while rest:
        piece = next(rest[:end] for end in range(len(rest), 0, -1) if rest[:end] in number_of)
        ids.append(number_of[piece])
        rest = rest[len(piece) :]
    return ids


@encoding.misconception
def whichever_fits_from_the_left(text: str, merges: Sequence[Pair]) -> list[int]:
    """You walk from the left and make any merge that fits, whatever its rank.

    A pair further right may have been learned earlier, and it takes precedence.
    """
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    ids, at = list(text.encode()), 0
    while at + 1 < len(ids):
        if (ids[at], ids[at + 1]) in rank:
            ids[at : at + 2] = [256 + rank[ids[at], ids[at + 1]]]
            at = max(at - 1, 0)
        else:
            at += 1
    return ids


@encoding.misconception
def spaces_lost(text: str, merges: Sequence[Pair]) -> list[int]:
    """You split the text at its spaces, and lose them.

    Decoding should give the very text back. A space is a byte like any other here.
    """
    return [i for word in text.split() for i in encode_bpe(word, merges)]


@encoding.misconception
def spaces_between_words(text: str, merges: Sequence[Pair]) -> list[int]:
    """You never merge a space with what stands beside it.

    Nothing is split here: if a pair with a space was learned, it is merged.
    """
    first, *others = text.split(" ")
    ids = encode_bpe(first, merges)
    for word in others:
        ids += [32, *encode_bpe(word, merges)]
    return ids


@encoding.misconception
def stops_at_the_first_that_is_missing(text: str, merges: Sequence[Pair]) -> list[int]:
    """You stop at the first merge that the text has no place for.

    The merges after it may still find their pairs; most texts use few of all merges.
    """
    ids = list(text.encode())
    for i, pair in enumerate(merges):
        shorter = glued(ids, pair, 256 + i)
        if shorter == ids:
            break
        ids = shorter
    return ids


# mask_tokens ----------------------------------------------------------------------------------------------------------

RAND = "torch.rand(shape, generator=generator, device=device).to(ids.device)"
RANDINT = "torch.randint(vocab, shape, generator=generator, device=device).to(ids.device)"
NEVER = "never = torch.tensor(special, dtype=torch.int64, device=ids.device)"
DRAWS = {"a": RAND, "b": RAND, "c": RANDINT}
MOVED = {f"{name} = {call}  ->  {name} = {call.removesuffix('.to(ids.device)')}" for name, call in DRAWS.items()}
PLACED = {f"{name} = {call}  ->  {name} = {call.replace(', device=device', '')}" for name, call in DRAWS.items()}

masking = Exercise(
    mask_tokens,
    section="BERT: guess what is hidden",
    minutes=10,
    difficulty=2,
    why="A token that stays has to be predicted as well, or the model need not understand what it can see.",
    hints=[
        "First the three draws, always all of them and in their order. Then everything is a matter of comparing.",
        "Two questions for every token: is it chosen (a, p, special)? And if so, what becomes of it (b)?",
        "`torch.isin(ids, …)` says which ids are special, also for an empty list of int64.",
        "A token that is chosen but stays has a target all the same: the model can't know which ones those are.",
    ],
    equivalents={
        **dict.fromkeys(sorted(MOVED | PLACED), "the generator and the ids are on the CPU here"),
        f"{NEVER}  ->  {NEVER.replace(', device=ids.device', '')}": "on the CPU",
        f"{NEVER}  ->  {NEVER.replace('dtype=torch.int64, ', '')}": "isin compares an empty float list too",
        **{
            f"inputs = torch.where(chosen & (b < {bound}), {new})  ->  "
            f"inputs = torch.where(chosen & (b <= {bound}), {new})": "no draw equals the bound"
            for bound, new in {0.9: "c, ids", 0.8: "mask_id, inputs"}.items()
        },
    },
)


def some_text(*shape: int, seed: str) -> tuple[Tensor, int, int, list[int]]:
    """Ids, the mask's id, the vocabulary, and three special ids that occur."""
    vocab = whole(12, 20, seed=f"{seed}: vocab")
    special = distinct(0, vocab, 3, seed=f"{seed}: special")
    return integers(0, vocab, *shape, seed=f"{seed}: ids"), whole(20, 30, seed=f"{seed}: mask"), vocab, special


def hidden(result: Any) -> Seen:
    inputs, targets = result
    return {"inputs": inputs, "targets": targets}


@masking.probe
def about_half(mask_tokens: Any) -> Seen:
    """eight sequences of thirty ids, about half of them chosen"""
    text = some_text(8, 30, seed="half")
    return hidden(mask_tokens(*text, generator("half"), number(0.4, 0.6, seed="p")))


@masking.probe
def as_bert_does(mask_tokens: Any) -> Seen:
    """twenty sequences of forty ids, p = 0.15 by default"""
    return hidden(mask_tokens(*some_text(20, 40, seed="bert"), generator("bert")))


@masking.probe
def all_and_none(mask_tokens: Any) -> Seen:
    """p = 1 and p = 0"""
    ids, mask_id, vocab, special = some_text(4, 25, seed="all")
    found = hidden(mask_tokens(ids.clone(), mask_id, vocab, special, generator("all"), 1.0))
    nothing = hidden(mask_tokens(ids.clone(), mask_id, vocab, special, generator("none"), p=0.0))
    return found | {f"{name} at p = 0": value for name, value in nothing.items()}


@masking.probe
def nothing_special(mask_tokens: Any) -> Seen:
    """no special ids, and special ids in a tuple"""
    ids, mask_id, vocab, special = some_text(5, 17, seed="plain")
    found = hidden(mask_tokens(ids.clone(), mask_id, vocab, [], generator("plain"), 0.7))
    as_tuple = hidden(mask_tokens(ids.clone(), mask_id, vocab, tuple(special), generator("plain"), 0.7))
    return found | {f"{name} with a tuple": value for name, value in as_tuple.items()}


@masking.probe
def other_shapes(mask_tokens: Any) -> Seen:
    """one sequence, three dimensions, sizes of 1"""
    found: Seen = {}
    for shape in ((40,), (3, 2, 9), (1, 1, 12)):
        result = hidden(mask_tokens(*some_text(*shape, seed=f"of {shape}"), generator(f"of {shape}"), 0.6))
        found |= {f"{name} {shape}": value for name, value in result.items()}
    return found


@masking.probe
def exactly_p(mask_tokens: Any) -> Seen:
    """a draw that equals p"""
    text = some_text(3, 8, seed="exact")
    draws = torch.rand(3, 8, generator=generator("exact"))
    spared = torch.isin(text[0], torch.tensor(text[3]))
    p = float(draws.masked_fill(spared, -1).flatten().sort().values[-3])  # of an ordinary token
    return hidden(mask_tokens(*text, generator("exact"), p))


@masking.probe
def what_the_generator_draws_next(mask_tokens: Any) -> Seen:
    """the generator after the call, with nothing chosen and with some"""
    found = {}
    for p in (0.0, number(0.2, 0.8, seed="next")):
        source = generator(f"next {p > 0}")
        mask_tokens(*some_text(3, 7, seed="next"), source, p)
        found[f"next draws, {'some' if p else 'none'} chosen"] = torch.rand(4, generator=source)
    return found


masking.property(keeps_inputs(lambda: (*some_text(4, 11, seed="kept"), generator("kept"), 0.9)))


def three_draws(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    a, b = (torch.rand(ids.shape, generator=generator) for _ in range(2))
    return a, b, torch.randint(vocab, ids.shape, generator=generator)


def below_p(a: Tensor, p: float) -> Tensor:
    return a < p


def not_special(ids: Tensor, special: Sequence[int]) -> Tensor:
    return ~torch.isin(ids, torch.tensor(special, dtype=torch.int64))


def eighty_ten_ten(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    return torch.where(chosen, torch.where(b < 0.8, mask_id, torch.where(b < 0.9, c, ids)), ids)


def ids_where_chosen(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    return torch.where(chosen, ids, -100)


@masking.assembled
def masked_in_steps(
    ids: Tensor,
    mask_id: int,
    vocab: int,
    special: Sequence[int],
    generator: torch.Generator,
    p: float = 0.15,
    *,
    draw: Any = three_draws,
    choose: Any = below_p,
    spare: Any = not_special,
    hide: Any = eighty_ten_ten,
    aim: Any = ids_where_chosen,
) -> tuple[Tensor, Tensor]:
    a, b, c = draw(ids, vocab, generator)
    chosen = choose(a, p) & spare(ids, special)
    inputs = hide(ids, chosen, b, c, mask_id)
    return inputs, aim(ids, inputs, chosen, b)


@masking.instead_of("draw")
def one_draw_for_both(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """One draw decides both whether a token is chosen and what becomes of it.

    The chosen ones have small draws, so all of them become the mask. Two questions need two draws.
    """
    a = torch.rand(ids.shape, generator=generator)
    return a, a, torch.randint(vocab, ids.shape, generator=generator)


@masking.instead_of("draw")
def random_tokens_drawn_first(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """You draw the random tokens before the two draws that decide.

    From a generator, the order of calls decides who gets which numbers; the docstring fixes it.
    """
    c = torch.randint(vocab, ids.shape, generator=generator)
    return torch.rand(ids.shape, generator=generator), torch.rand(ids.shape, generator=generator), c


@masking.instead_of("draw")
def one_row_for_all(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """You draw one row and use it for every sequence.

    Then all sequences are hidden at the same places. Draw in the shape of the ids.
    """
    a, b, c = three_draws(ids[(0,) * (ids.dim() - 1)], vocab, generator)
    return a.expand(ids.shape), b.expand(ids.shape), c.expand(ids.shape)


@masking.instead_of("draw")
def the_same_every_time(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """You do not draw from the generator that you are given, but from one of your own with a fixed seed.

    Then the same places are hidden every time, and the model never learns to say the others.
    """
    return three_draws(ids, vocab, torch.Generator().manual_seed(0))


@masking.instead_of("choose")
def above_p(a: Tensor, p: float) -> Tensor:
    """You choose where the draw is above p.

    A draw is below p with probability p; above it, with 1 - p: you hide 85 % of the text.
    """
    return a > p


@masking.instead_of("choose")
def always_fifteen_percent(a: Tensor, p: float) -> Tensor:
    """You choose 15 %, whatever p says.

    0.15 is the default; the caller may want more or less.
    """
    return a < 0.15


@masking.instead_of("spare")
def special_ones_too(ids: Tensor, special: Sequence[int]) -> Tensor:
    """You choose special tokens too.

    Separators and padding carry the form of the input; there is nothing to learn from guessing them.
    """
    return torch.ones_like(ids, dtype=torch.bool)


@masking.instead_of("spare")
def the_first_special_only(ids: Tensor, special: Sequence[int]) -> Tensor:
    """You spare the first of the special ids only.

    `special` is a list; none of its ids may be chosen.
    """
    return ~torch.isin(ids, torch.tensor(special[:1], dtype=torch.int64))


@masking.instead_of("hide")
def all_hidden(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """All chosen tokens become the mask.

    In use there is no mask, and the model would have learned to say something at masks only. 10 % random ones and 10 %
    unchanged ones keep it attentive everywhere.
    """
    return torch.where(chosen, mask_id, ids)


@masking.instead_of("hide")
def none_stays(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """Of the chosen tokens 20 % become random, and none stays as it is.

    Then a token that is seen is never the right answer where it was chosen. Between 0.8 and 0.9 a token becomes random;
    from 0.9 on it stays.
    """
    return torch.where(chosen, torch.where(b < 0.8, mask_id, c), ids)


@masking.instead_of("hide")
def random_and_unchanged_exchanged(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """You put random tokens where b is 0.9 or more, and leave the others from 0.8 on.

    Just as good in the end, but not what was agreed: random from 0.8 to 0.9, unchanged above.
    """
    return torch.where(chosen, torch.where(b < 0.8, mask_id, torch.where(b < 0.9, ids, c)), ids)


@masking.instead_of("aim")
def zero_for_no_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Your targets are 0 where nothing is to be predicted.

    0 is a token. -100 is what torch's cross-entropy passes over.
    """
    return torch.where(chosen, ids, 0)


@masking.instead_of("aim")
def everything_is_a_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Every token is a target, hidden or not.

    Saying what one sees is easy, and most of the loss would be about that.
    """
    return ids.clone()


@masking.instead_of("aim")
def only_what_changed_is_a_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Chosen tokens that stay as they are have no target with you.

    They are there so that the model must have an opinion about tokens that look ordinary.
    """
    return torch.where(chosen & (b < 0.9), ids, -100)


@masking.instead_of("aim")
def the_mask_is_the_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Your targets hold what was put in, not what was there.

    The model should say the hidden token. Take the targets from the ids before you change anything.
    """
    return torch.where(chosen, inputs, -100)


@masking.misconception
def special_ones_hidden_without_target(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """You hide special tokens too; only their targets are left out.

    They are not to be chosen at all: the model would lose the form of its input.
    """
    inputs, targets = mask_tokens(ids, mask_id, vocab, [], generator, p)
    return inputs, torch.where(not_special(ids, special), targets, -100)


@masking.misconception
def targets_first(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """You return the targets first and the inputs second.

    The model reads the first of the two, and would read the answers.
    """
    inputs, targets = mask_tokens(ids, mask_id, vocab, special, generator, p)
    return targets, inputs


@masking.misconception
def nothing_drawn_at_zero(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """For p = 0 you draw nothing.

    Then whoever uses the generator next gets other numbers than after any other p. All three draws are always made.
    """
    if p == 0:
        return ids.clone(), torch.full_like(ids, -100)
    return mask_tokens(ids, mask_id, vocab, special, generator, p)


@masking.misconception
def drawn_for_the_chosen_only(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """You draw the second and third number for the chosen tokens only.

    Then what a token gets depends on how many were chosen before it. Draw for all, in the shape of the ids.
    """
    chosen = below_p(torch.rand(ids.shape, generator=generator), p) & not_special(ids, special)
    b = torch.rand(int(chosen.sum()), generator=generator)
    c = torch.randint(vocab, b.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen] = torch.where(b < 0.8, mask_id, torch.where(b < 0.9, c, ids[chosen]))
    return inputs, torch.where(chosen, ids, -100)


# corrupt_spans --------------------------------------------------------------------------------------------------------

spanning = Exercise(
    corrupt_spans,
    section="T5: fill the gaps",
    minutes=10,
    difficulty=2,
    why="One format for every task: the question is a text with gaps, and the answer is what belongs into them.",
    hints=[
        "Take [5, 6, 7, 8, 9] and the span (1, 2): write inputs and targets by hand, with sentinel 99.",
        "Walk from span to span and remember where the last one ended: what lies between stays in the inputs.",
        "Each span has a sentinel, which stands in both lists. How is the target of the last span ended?",
    ],
)


def drawn_ids(length: int, seed: str) -> list[int]:
    """Ids of which many occur more than once."""
    return integers(0, 9, length, seed=seed).tolist()


def drawn_cuts(count: int, length: int, seed: str) -> list[int]:
    """Different places strictly inside a text, in order."""
    return sorted(distinct(1, length, count, seed=seed))


def corrupted(result: Any) -> Seen:
    inputs, targets = result
    return {"inputs": inputs, "targets": targets}


@spanning.probe
def spans_apart(corrupt_spans: Any) -> Seen:
    """three spans with ids between them"""
    cuts = drawn_cuts(6, 24, "apart")
    spans = [(a, b - a) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
    return corrupted(corrupt_spans(drawn_ids(24, "ids apart"), spans, whole(100, 200, seed="sentinel")))


@spanning.probe
def spans_that_touch(corrupt_spans: Any) -> Seen:
    """four spans, of which neighbours touch"""
    a, b, c, d, e, f = drawn_cuts(6, 20, "touching")
    spans = [(a, b - a), (b, c - b), (d, e - d), (e, f - e)]
    return corrupted(corrupt_spans(drawn_ids(20, "ids touching"), spans, whole(50, 99, seed="lower sentinel")))


@spanning.probe
def from_end_to_end(corrupt_spans: Any) -> Seen:
    """a span that begins the text and one that ends it"""
    a, b = drawn_cuts(2, 15, "ends")
    return corrupted(corrupt_spans(drawn_ids(15, "ids"), [(0, a), (b, 15 - b)], whole(300, 400, seed="high")))


@spanning.probe
def single_ids(corrupt_spans: Any) -> Seen:
    """spans of one id"""
    places = drawn_cuts(4, 12, "single")
    return corrupted(corrupt_spans(drawn_ids(12, "few"), [(at, 1) for at in places], whole(40, 80, seed="single")))


@spanning.probe
def no_span_and_nothing_else(corrupt_spans: Any) -> Seen:
    """no spans, and one span that is the whole text"""
    length, sentinel = whole(4, 9, seed="length"), whole(60, 90, seed="the sentinel")
    ids = drawn_ids(9, "short")[:length]
    untouched = corrupted(corrupt_spans(list(ids), [], sentinel))
    gone = corrupted(corrupt_spans(list(ids), [(0, length)], sentinel))
    return {f"{n} without spans": v for n, v in untouched.items()} | {f"{n}, all hidden": v for n, v in gone.items()}


spanning.property(keeps_inputs(lambda: (drawn_ids(10, "kept ids"), [(1, 2), (5, 3)], 77)))


def counted_down(i: int, sentinel: int) -> int:
    return sentinel - i


def as_given(start: int, length: int) -> tuple[int, int]:
    return start, start + length


def one_mark(mark: int, hidden_ids: list[int]) -> list[int]:
    return [mark]


def mark_then_ids(mark: int, hidden_ids: list[int]) -> list[int]:
    return [mark, *hidden_ids]


def closed(mark: int) -> list[int]:
    return [mark]


@spanning.assembled
def corrupted_in_steps(
    ids: list[int],
    spans: Sequence[Pair],
    sentinel: int,
    *,
    mark: Any = counted_down,
    bounds: Any = as_given,
    replace: Any = one_mark,
    say: Any = mark_then_ids,
    close: Any = closed,
) -> tuple[list[int], list[int]]:
    inputs: list[int] = []
    targets: list[int] = []
    end = 0
    for i, span in enumerate(spans):
        last, (start, end) = end, bounds(*span)
        inputs += ids[last:start] + replace(mark(i, sentinel), ids[start:end])
        targets += say(mark(i, sentinel), ids[start:end])
    return inputs + ids[end:], targets + close(mark(len(spans), sentinel))


@spanning.instead_of("mark")
def counted_up(i: int, sentinel: int) -> int:
    """Your sentinels count up.

    T5's stand at the end of its vocabulary, the first of them last, so they count down from `sentinel`.
    """
    return sentinel + i


@spanning.instead_of("mark")
def one_for_all(i: int, sentinel: int) -> int:
    """All your spans have the same sentinel.

    Then nobody can tell which of the gaps a piece of the target belongs to.
    """
    return sentinel


@spanning.instead_of("mark")
def one_lower(i: int, sentinel: int) -> int:
    """Your first span has sentinel - 1.

    Spans are counted from 0: the first has `sentinel` itself.
    """
    return sentinel - i - 1


@spanning.instead_of("bounds")
def start_and_end(start: int, length: int) -> tuple[int, int]:
    """You read a span as (start, end).

    Its second number is a length: the span ends before start + length.
    """
    return start, length


@spanning.instead_of("bounds")
def end_included(start: int, length: int) -> tuple[int, int]:
    """Your spans are one id too long.

    A span of length 2 that starts at 5 has the ids at 5 and 6.
    """
    return start, start + length + 1


@spanning.instead_of("bounds")
def counted_from_one(start: int, length: int) -> tuple[int, int]:
    """You count positions from 1: your spans begin one id too early.

    Positions count from 0.
    """
    return max(start - 1, 0), max(start - 1, 0) + length


@spanning.instead_of("replace")
def a_mark_for_every_id(mark: int, hidden_ids: list[int]) -> list[int]:
    """Every hidden id becomes a sentinel, so the inputs tell how long a span is.

    A span becomes *one* sentinel, whatever its length. How much is missing is part of the question.
    """
    return [mark] * len(hidden_ids)


@spanning.instead_of("replace")
def cut_without_a_mark(mark: int, hidden_ids: list[int]) -> list[int]:
    """Your spans vanish from the inputs without a trace.

    In their place stands a sentinel; otherwise nobody knows where something is missing.
    """
    return []


@spanning.instead_of("say")
def said_without_marks(mark: int, hidden_ids: list[int]) -> list[int]:
    """Your targets have no sentinels before the spans.

    They tell which gap the ids that follow belong to.
    """
    return list(hidden_ids)


@spanning.instead_of("say")
def mark_behind_its_ids(mark: int, hidden_ids: list[int]) -> list[int]:
    """In your targets a sentinel stands behind its span.

    It announces what follows: first the sentinel, then the ids.
    """
    return [*hidden_ids, mark]


@spanning.instead_of("close")
def not_closed(mark: int) -> list[int]:
    """Your targets have no closing sentinel.

    The last span's end is marked by the next sentinel, as the end of every other span is.
    """
    return []


@spanning.instead_of("close")
def closed_by_an_end(mark: int) -> list[int]:
    """You put an end of sequence behind the targets.

    Here they end with the closing sentinel; whoever wants an end adds it.
    """
    return [mark, 1]


@spanning.misconception
def ends_added(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You put an end of sequence behind inputs and targets.

    T5's own data have one. Here both lists are as they are; whoever wants an end adds it.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return [*inputs, 1], [*targets, 1]


@spanning.misconception
def exchanged(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You return the targets first and the inputs second.

    The model reads the first of the two, and would read the answers.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return targets, inputs


@spanning.misconception
def counted_from_behind(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You give `sentinel` to the last span, not to the first.

    Replacing the spans from behind keeps their places right, but they are still counted from the front.
    """
    last = len(spans) - 1
    inputs, targets = corrupted_in_steps(ids, spans, sentinel, mark=lambda i, sentinel: sentinel - (last - i))
    return inputs, [*targets[:-1], sentinel - len(spans)]


@spanning.misconception
def no_target_without_spans(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """Without spans your targets are empty.

    They are always closed by a sentinel; with no span before it, that is `sentinel` itself.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return inputs, targets if spans else []


@spanning.misconception
def places_shift(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You replace one span after the other in the same list, so the places of later spans shift.

    After the first replacement the list is shorter, but the starts still count in the original text.
    """
    inputs, targets = list(ids), []
    for i, (start, length) in enumerate(spans):
        targets += [sentinel - i, *inputs[start : start + length]]
        inputs[start : start + length] = [sentinel - i]
    return inputs, [*targets, sentinel - len(spans)]


@spanning.misconception
def touching_spans_joined(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You make one span of two that touch.

    Each span has a sentinel of its own, also where nothing stands between two of them.
    """
    joined: list[Pair] = []
    for start, length in spans:
        if joined and sum(joined[-1]) == start:
            joined[-1] = joined[-1][0], joined[-1][1] + length
        else:
            joined.append((start, length))
    return corrupt_spans(ids, joined, sentinel)


@spanning.misconception
def tail_lost(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """Your inputs end with the last span: what comes after it is lost.

    After the loop the rest of the ids is still to be read.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    rest = len(ids) - max((start + length for start, length in spans), default=0)
    return inputs[: len(inputs) - rest], targets


@spanning.misconception
def inputs_closed_too(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You close the inputs with a sentinel as well.

    Nothing is missing at the end of the inputs; the closing sentinel ends the targets.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return [*inputs, sentinel - len(spans)], targets


@spanning.misconception
def last_sentinel_again(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You close the targets with the sentinel of the last span.

    The closing one is the next, which no span has: sentinel - len(spans).
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return inputs, [*targets[:-1], sentinel - max(len(spans) - 1, 0)]


# perplexity -----------------------------------------------------------------------------------------------------------

perplexing = Exercise(
    perplexity,
    section="How surprised is it?",
    minutes=10,
    difficulty=2,
    why="It is the number by which language models are compared, and a wrong average still looks fine.",
    hints=[
        "The logits at position t - 1 were made before the token at t was seen. Which logits go with which ids?",
        "Which positions are predicted *and* real? Keep those, and the padding has no say whatever stands there.",
        "Surprise is -log p, and torch computes it from logits without ever forming p. Average first; what comes last?",
    ],
)


def predictions(batch: int, seq: int, vocab: int, seed: str) -> tuple[Tensor, Tensor]:
    logits = normal(batch, seq, vocab, seed=f"{seed}: logits", std=1.5)
    return logits, integers(0, vocab, batch, seq, seed=f"{seed}: ids")


def three_predictions() -> tuple[Tensor, Tensor, Tensor]:
    return *predictions(3, 7, 5, "three"), torch.tensor(distinct(2, 7, 3, seed="three lengths"))


@perplexing.probe
def three_lengths(perplexity: Any) -> Seen:
    """three sequences of different lengths, vocabulary 5"""
    return {"perplexity": perplexity(*three_predictions())}


@perplexing.probe
def whole_sequences(perplexity: Any) -> Seen:
    """two sequences without padding, and a single one of two tokens"""
    vocab, seq = distinct(6, 12, 2, seed="sizes")
    two = perplexity(*predictions(2, seq, vocab, "whole"), torch.tensor([seq, seq]))
    return {"of two": two, "of one": perplexity(*predictions(1, 2, vocab, "short"), torch.tensor([2]))}


@perplexing.probe
def empty_ones_among_them(perplexity: Any) -> Seen:
    """sequences of length 0 and 1 among longer ones"""
    long, longer = distinct(2, 7, 2, seed="long")
    lengths = torch.tensor([0, long, 1, longer, 0])[permutation(5, seed="order")]
    return {"perplexity": perplexity(*predictions(5, 6, 4, "empty"), lengths)}


@perplexing.probe
def a_long_text(perplexity: Any) -> Seen:
    """a text of three hundred tokens, vocabulary 60"""
    return {"perplexity": perplexity(*predictions(1, 300, 60, "long"), torch.tensor([whole(280, 301, seed="long")]))}


def wild_in_the_padding(logits: Tensor, lengths: Tensor, seed: str) -> Tensor:
    """Logits in which padding positions hold ±10,000."""
    padding = torch.arange(logits.shape[1]) >= lengths[:, None]
    return torch.where(padding[..., None], 1e4 * normal(*logits.shape, seed=seed).sign(), logits)


@perplexing.probe
def thousands(perplexity: Any) -> Seen:
    """logits around 10,000 and -10,000, in the padding too"""
    logits, ids = predictions(3, 6, 5, "huge")
    lengths = torch.tensor(distinct(2, 6, 3, seed="huge lengths"))
    logits = logits + torch.tensor([1e4, -1e4, 0.0])[:, None, None]
    result = perplexity(wild_in_the_padding(logits, lengths, "wild"), ids, lengths)
    # a sum of 10,000 and something has three digits left for it in float32: more can't be asked
    return {"perplexity": torch.as_tensor(result).to(torch.float16)}


def mild_predictions() -> tuple[Tensor, Tensor, Tensor]:
    """Predictions whose perplexity is small: an exponential of much has few digits left in float16."""
    logits, ids, lengths = three_predictions()
    return 0.4 * logits, ids, lengths


usual(perplexing, mild_predictions)


@perplexing.property
def gradients_beside_wild_padding(perplexity: Any) -> Seen:
    """the gradient, with logits of ±10,000 in the padding

    Beside wild logits in the padding your gradient is not right. What is multiplied by 0 still has a gradient, and 0
    times infinity is NaN: leave the padding out before you compute.
    """
    logits, ids = predictions(2, 6, 4, "graph")
    lengths = torch.tensor(distinct(2, 6, 2, seed="graph lengths"))
    logits = wild_in_the_padding(logits, lengths, "wild graph").requires_grad_()
    result = perplexity(logits, ids, lengths)
    if not isinstance(result, Tensor) or not result.requires_grad:
        return {"finite": True, "gradient": torch.zeros_like(logits)}
    (gradient,) = torch.autograd.grad(result.sum(), logits)
    return {"finite": bool(gradient.isfinite().all()), "gradient": gradient.nan_to_num(0.0, 0.0, 0.0)}


def before_its_token(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Predictions, what was said, and the position of what was said."""
    return logits[:, :-1], ids[:, 1:], torch.arange(1, ids.shape[1], device=ids.device)


def inside(position: Tensor, lengths: Tensor) -> Tensor:
    return position < lengths[:, None]


def minus_log_p(logits: Tensor, said: Tensor) -> Tensor:
    return -logits.log_softmax(-1).gather(-1, said[..., None]).squeeze(-1)


def over_tokens(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    return surprise[real].mean()


@perplexing.assembled
def perplexity_in_steps(
    logits: Tensor,
    ids: Tensor,
    lengths: Tensor,
    *,
    align: Any = before_its_token,
    keep: Any = inside,
    surprise: Any = minus_log_p,
    average: Any = over_tokens,
    power: Any = torch.exp,
) -> Tensor:
    predicted, said, position = align(logits, ids)
    return power(average(surprise(predicted, said), keep(position, lengths), lengths))


@perplexing.instead_of("align")
def not_shifted_at_all(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You compare the logits at a position with the token at the same position.

    The model has read that token when it makes these logits. They predict the next one.
    """
    return logits, ids, torch.arange(ids.shape[1], device=ids.device)


@perplexing.instead_of("align")
def shifted_backwards(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You shift the wrong way: your logits are compared with the token before them.

    The logits at t - 1 predict the token at t.
    """
    return logits[:, 1:], ids[:, :-1], torch.arange(1, ids.shape[1], device=ids.device)


@perplexing.instead_of("keep")
def padding_counted(position: Tensor, lengths: Tensor) -> Tensor:
    """You count padding as if it had been said.

    Its tokens mean nothing, and a model that is good at padding would look good.
    """
    return torch.ones(len(lengths), len(position), dtype=torch.bool, device=lengths.device)


@perplexing.instead_of("keep")
def one_of_the_padding(position: Tensor, lengths: Tensor) -> Tensor:
    """You count one token too many in each sequence, the first of its padding.

    Positions count from 0: the last of 3 tokens is at position 2.
    """
    return position <= lengths[:, None]


@perplexing.instead_of("keep")
def last_token_left_out(position: Tensor, lengths: Tensor) -> Tensor:
    """You leave the last token of each sequence out.

    A sequence of 3 tokens has two that are predicted, at positions 1 and 2.
    """
    return position < lengths[:, None] - 1


@perplexing.instead_of("surprise")
def exponentials_first(logits: Tensor, said: Tensor) -> Tensor:
    """You form the probabilities before you take their logarithm; for large logits nothing finite is left.

    exp(1000) is infinite. The difference of logits, or `log_softmax`, needs no such number.
    """
    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)
    return -torch.log(p.gather(-1, said[..., None]).squeeze(-1))


@perplexing.instead_of("surprise")
def own_uncertainty(logits: Tensor, said: Tensor) -> Tensor:
    """You measure how undecided the model is, not how surprised it is by what was said.

    A model can be sure of itself and wrong. What counts is the probability of the token that really came.
    """
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@perplexing.instead_of("average")
def over_sequences(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You average over each sequence first, and then over the sequences.

    Then the tokens of short sequences count for more. All tokens count alike.
    """
    counts = real.sum(1)
    means = surprise.masked_fill(~real, 0).sum(1)[counts > 0] / counts[counts > 0]
    return means.mean()


@perplexing.instead_of("average")
def over_all_places(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by all places, padding included.

    Padding is left out of the sum, so it must be left out of the count as well.
    """
    return surprise.masked_fill(~real, 0).sum() / real.numel()


@perplexing.instead_of("average")
def over_lengths(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by the number of tokens, not by the number of predicted ones.

    The first token of a sequence is not predicted: n tokens have n - 1 surprises.
    """
    return surprise.masked_fill(~real, 0).sum() / lengths.sum()


@perplexing.instead_of("average")
def over_the_batch(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide the sum by the number of sequences.

    Then a long text looks worse than a short one. Divide by the number of predicted tokens.
    """
    return surprise.masked_fill(~real, 0).sum() / len(real)


@perplexing.instead_of("power")
def left_in_nats(mean: Tensor) -> Tensor:
    """You return the mean surprise; the exponential is missing.

    In nats it is hard to imagine. Its exponential is a number of tokens: among so many the model is undecided.
    """
    return mean


@perplexing.instead_of("power")
def two_to_the_nats(mean: Tensor) -> Tensor:
    """You raise 2 to the mean, but your logarithm is the natural one.

    2 belongs to bits (log2), e to nats (log). Either pair gives the perplexity, a mixture does not.
    """
    return 2**mean


@perplexing.instead_of("power")
def sign_forgotten(mean: Tensor) -> Tensor:
    """Your perplexity is below 1: the minus sign before the logarithm is missing.

    A logarithm of a probability is negative. A perplexity is 1 at best.
    """
    return torch.exp(-mean)


@perplexing.misconception
def mean_of_perplexities(logits: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
    """You take the exponential of every token's surprise and average then.

    One very unlikely token would decide everything. First the mean, then the exponential.
    """
    return perplexity_in_steps(
        logits, ids, lengths, average=lambda surprise, real, _: surprise[real].exp().mean(), power=lambda mean: mean
    )


@perplexing.misconception
def product_of_probabilities(logits: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
    """You multiply the probabilities of all tokens and take the root; in a long text the product is 0.

    A few dozen factors below 1 leave nothing in float32. Add logarithms instead.
    """
    return perplexity_in_steps(
        logits,
        ids,
        lengths,
        average=lambda surprise, real, _: torch.exp(-surprise[real]).prod() ** (-1 / int(real.sum())),
        power=lambda mean: mean,
    )


# sampling_probabilities -----------------------------------------------------------------------------------------------

SORTED = "ranked, order = (logits / temperature).sort({how})"
BY_SIZE = f"{SORTED.format(how='dim=-1, descending=True, stable=True')}  ->  "
PUT_BACK = "return {into}.scatter(-1, order, p)"

sampling = Exercise(
    sampling_probabilities,
    section="Choosing the next word",
    minutes=20,
    difficulty=3,
    why="The same model writes well or badly, according to how its next word is chosen.",
    points=2.0,
    hints=[
        "Write p = 0.5, 0.3, 0.15, 0.05 and top_p = 0.7. What is the total before each of them? Which ones stay?",
        "Sort once, from the largest on, with `stable=True`: then of equals the smaller id comes first in every cut.",
        "In this order: divide by the temperature, cut to top_k, softmax, cut to top_p, divide by what is left.",
        "You have sorted, so the probabilities must go back to their ids: `scatter` with the order puts them there.",
    ],
    equivalents={
        BY_SIZE + SORTED.format(how="descending=True, stable=True"): "the last dimension is the default",
        BY_SIZE + SORTED.format(how="dim=-1, descending=True"): "on the CPU torch's sort is stable in any case",
        BY_SIZE + SORTED.format(how="dim=-1, descending=True, stable=False"): "on the CPU torch's sort is stable",
        f"{PUT_BACK.format(into='torch.zeros_like(p)')}  ->  {PUT_BACK.format(into='p')}": "every entry is overwritten",
    },
)


def apart() -> tuple[Tensor, float, int, float]:
    """Logits in random order whose probabilities lie so far apart that no rounding moves a cut."""
    order = torch.stack([permutation(7, seed=f"row {i}") for i in range(6)]).view(2, 3, 7)
    noise = normal(2, 3, 7, seed="noise", std=0.03)
    return -1.1 * order + noise, 1.25, 5, 0.7


def chosen_by(sampling_probabilities: Any, logits: Tensor, settings: Sequence[tuple[float, Any, Any]]) -> Seen:
    return {
        f"p at setting {i}": sampling_probabilities(logits.clone(), temperature, top_k, top_p)
        for i, (temperature, top_k, top_p) in enumerate(settings)
    }


@sampling.probe
def by_temperature(sampling_probabilities: Any) -> Seen:
    """a temperature below 1, and one above"""
    logits = normal(2, 3, 5, seed="warm", std=2.0)
    cold, hot = number(0.4, 0.8, seed="cold"), number(1.3, 2.5, seed="hot")
    return {
        "cold": sampling_probabilities(logits.clone(), cold),
        "hot": sampling_probabilities(logits.clone(), temperature=hot),
        "as it is": sampling_probabilities(logits.clone()),
    }


@sampling.probe
def the_largest_few(sampling_probabilities: Any) -> Seen:
    """top_k alone, and more than there are"""
    logits = normal(3, 8, seed="few", std=2.0)
    return {
        "some": sampling_probabilities(logits.clone(), top_k=whole(2, 7, seed="k")),
        "one": sampling_probabilities(logits.clone(), top_k=1),
        "more than there are": sampling_probabilities(logits.clone(), top_k=whole(9, 30, seed="large k")),
    }


@sampling.probe
def most_of_the_probability(sampling_probabilities: Any) -> Seen:
    """top_p alone, from 0 to 1"""
    logits = normal(4, 9, seed="most", std=1.5)
    some, more = number(0.2, 0.5, seed="some"), number(0.6, 0.95, seed="more")
    return chosen_by(sampling_probabilities, logits, [(1.0, None, p) for p in (0.0, some, more, 1.0)])


@sampling.probe
def all_three(sampling_probabilities: Any) -> Seen:
    """temperature, top_k and top_p together"""
    logits = normal(2, 6, 12, seed="all", std=1.5)
    warm, k = number(1.2, 2.0, seed="warm"), whole(3, 7, seed="all k")
    settings = [(t, k + i, number(0.3, 0.9, seed=f"p {t > 1} {i}")) for t in (0.6, warm) for i in range(3)]
    return chosen_by(sampling_probabilities, logits, settings)


@sampling.probe
def equally_likely_at_the_edge(sampling_probabilities: Any) -> Seen:
    """small whole numbers as logits, so that equals stand at the edge of top_k"""
    logits = integers(0, 3, 6, 9, seed="small").float()
    return chosen_by(sampling_probabilities, logits, [(t, k, None) for t in (1.0, 0.5) for k in (2, 3, 5, 7)])


@sampling.probe
def exactly_at_the_bound(sampling_probabilities: Any) -> Seen:
    """eight equally likely tokens among impossible ones, and totals that equal top_p exactly"""
    logits = torch.full((4, 13), -torch.inf)
    for row in logits:
        row[permutation(13, seed="possible")[:8]] = whole(-2, 3, seed="height") / 2
    logits = torch.stack([row[permutation(13, seed=f"exact {i}")] for i, row in enumerate(logits)])
    return chosen_by(
        sampling_probabilities, logits, [(1.0, None, 0.25), (2.0, None, 0.625), (1.0, 4, 0.5), (1.0, 4, 0.75)]
    )


@sampling.probe
def without_chance(sampling_probabilities: Any) -> Seen:
    """temperature 0: the largest logit, equals among them, whatever top_k and top_p say"""
    logits = integers(0, 4, 5, 7, seed="cold").float()
    logits[0, permutation(7, seed="equals")[:3]] = 4.0
    return chosen_by(sampling_probabilities, logits, [(0.0, None, None), (0, 3, None), (0.0, None, 0.9), (0.0, 4, 0.0)])


@sampling.probe
def some_never(sampling_probabilities: Any) -> Seen:
    """logits of -inf beside finite ones, one row without a batch, a vocabulary of one"""
    logits = normal(8, seed="never", std=2.0)
    logits[permutation(8, seed="which never")[:3]] = -torch.inf
    settings = [(0.7, None, None), (1.0, 6, None), (1.5, None, 0.9), (0.0, None, None), (1.0, 4, 0.6)]
    alone = sampling_probabilities(normal(2, 1, seed="alone"), 0.8, 3, 0.5)
    return chosen_by(sampling_probabilities, logits, settings) | {"of one": alone}


usual(sampling, apart, without=("gradients",))


def one_hot_of_the_first(logits: Tensor) -> Tensor:
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


def divided(logits: Tensor, temperature: float) -> Tensor:
    return logits / temperature


def smaller_id_first(scores: Tensor) -> tuple[Tensor, Tensor]:
    ranked, order = scores.sort(dim=-1, descending=True, stable=True)
    return ranked, order


def first_k(ranked: Tensor, top_k: int) -> Tensor:
    rank = torch.arange(ranked.shape[-1], device=ranked.device)
    return ranked.masked_fill(rank >= top_k, -torch.inf)


def before_the_bound(p: Tensor, top_p: float) -> Tensor:
    kept = p.cumsum(-1) - p < top_p
    kept[..., 0] = True
    return kept


def to_sum_1(p: Tensor) -> Tensor:
    return p / p.sum(-1, keepdim=True)


def to_their_ids(p: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(p).scatter(-1, order, p)


@sampling.assembled
def sampled_in_steps(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    *,
    freeze: Any = one_hot_of_the_first,
    warm: Any = divided,
    rank: Any = smaller_id_first,
    keep_k: Any = first_k,
    keep_p: Any = before_the_bound,
    share: Any = to_sum_1,
    place: Any = to_their_ids,
) -> Tensor:
    if temperature == 0 and freeze is not None:
        return freeze(logits)
    ranked, order = rank(warm(logits, temperature))
    if top_k is not None:
        ranked = keep_k(ranked, top_k)
    p = ranked.softmax(-1)
    if top_p is not None:
        p = share(p.masked_fill(~keep_p(p, top_p), 0))
    return place(p, order)


@sampling.instead_of("freeze")
def equals_share(logits: Tensor) -> Tensor:
    """At temperature 0 your equally large logits share the probability.

    That is the limit of ever lower temperatures. Here 0 means "no chance at all": the smallest id of them has it all.
    """
    best = (logits == logits.amax(-1, keepdim=True)).to(logits.dtype)
    return best / best.sum(-1, keepdim=True)


@sampling.instead_of("freeze")
def last_of_equals(logits: Tensor) -> Tensor:
    """At temperature 0 you take the largest id of equals.

    Ties go to the smaller id, as in every other cut.
    """
    best = logits.shape[-1] - 1 - logits.flip(-1).argmax(-1)
    return F.one_hot(best, logits.shape[-1]).to(logits.dtype)


@sampling.instead_of("warm")
def multiplied(logits: Tensor, temperature: float) -> Tensor:
    """You multiply by the temperature.

    Then a high temperature makes the model more certain. Divide: heat melts differences down.
    """
    return logits * temperature


@sampling.instead_of("warm")
def temperature_unused(logits: Tensor, temperature: float) -> Tensor:
    """You do not use the temperature.

    It says how much of the differences between logits is left.
    """
    return logits


@sampling.instead_of("rank")
def larger_id_first(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Of equally likely tokens you keep the larger ids.

    Sorting in ascending order and turning round does so. Ties go to the smaller id, so that a cut does not depend on
    how somebody sorts.
    """
    ranked, order = scores.flip(-1).sort(dim=-1, descending=True, stable=True)
    return ranked, scores.shape[-1] - 1 - order


@sampling.instead_of("keep_k")
def equals_of_the_last_stay(ranked: Tensor, top_k: int) -> Tensor:
    """You keep every token that equals the last of the top_k, so more than top_k may stay.

    Comparing with the k-th largest value can't tell equals apart. Exactly top_k stay, of equals the smaller ids.
    """
    last = ranked[..., min(top_k, ranked.shape[-1]) - 1, None]
    return ranked.masked_fill(ranked < last, -torch.inf)


@sampling.instead_of("keep_k")
def the_smallest_few(ranked: Tensor, top_k: int) -> Tensor:
    """You keep the top_k *smallest* logits.

    The likeliest ones should stay: sort from the largest on.
    """
    return first_k(ranked.flip(-1), top_k).flip(-1)


@sampling.instead_of("keep_k")
def logits_of_zero(ranked: Tensor, top_k: int) -> Tensor:
    """You set the logits of what is cut to 0.

    A logit of 0 is no small one: its power is 1. Which logit has the probability 0?
    """
    rank = torch.arange(ranked.shape[-1], device=ranked.device)
    return ranked.masked_fill(rank >= top_k, 0.0)


@sampling.instead_of("keep_p")
def crossing_dropped(p: Tensor, top_p: float) -> Tensor:
    """You drop the token with which the total crosses top_p.

    What is kept should reach top_p. Look at the total *before* a token.
    """
    kept = p.cumsum(-1) <= top_p
    kept[..., 0] = True
    return kept


@sampling.instead_of("keep_p")
def one_more_at_the_bound(p: Tensor, top_p: float) -> Tensor:
    """Where the total is exactly top_p you keep one more token.

    Then top_p is reached already. A token stays if the total before it is *less* than top_p.
    """
    kept = p.cumsum(-1) - p <= top_p
    kept[..., 0] = True
    return kept


@sampling.instead_of("keep_p")
def nothing_kept_at_zero(p: Tensor, top_p: float) -> Tensor:
    """For top_p = 0 you keep nothing at all, and 0/0 follows.

    The likeliest token stays in any case.
    """
    return p.cumsum(-1) - p < top_p


@sampling.instead_of("keep_p")
def each_by_itself(p: Tensor, top_p: float) -> Tensor:
    """You compare every single probability with top_p.

    top_p is about the total of the likeliest ones, not about each of them.
    """
    kept = p >= top_p
    kept[..., 0] = True
    return kept


@sampling.instead_of("share")
def left_below_one(p: Tensor) -> Tensor:
    """After top_p your probabilities do not sum to 1.

    What was cut is missing. Divide by what is left.
    """
    return p


@sampling.instead_of("place")
def in_the_order_of_size(p: Tensor, order: Tensor) -> Tensor:
    """Your probabilities are in the order of their size: the first is the largest, whichever token it belongs to.

    After sorting they must go back to their ids.
    """
    return p


@sampling.misconception
def divided_by_zero(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """At temperature 0 you divide by 0, and what comes out is no probability.

    0 is a case of its own: all probability goes to the largest logit.
    """
    return sampled_in_steps(logits, temperature, top_k, top_p, freeze=None)


@sampling.misconception
def top_p_first(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """You cut to top_p by the probabilities before top_k.

    After top_k the softmax is taken anew, among the kept tokens only, and their probabilities are larger. top_p is
    measured by these.
    """
    p = sampling_probabilities(logits, temperature, None, top_p)
    if top_k is None or temperature == 0:
        return p
    ranked, order = smaller_id_first(p)
    rank = torch.arange(p.shape[-1], device=p.device)
    return to_their_ids(to_sum_1(ranked.masked_fill(rank >= top_k, 0)), order)


@sampling.misconception
def almost_zero(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """For temperature 0 you divide by a tiny number instead.

    Then equally large logits share the probability. 0 means "no chance at all": the smallest id of them has it all.
    """
    return sampling_probabilities(logits, max(temperature, 1e-6), top_k, top_p)


@sampling.misconception
def logarithms_returned(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """You return logarithms of probabilities.

    `torch.multinomial` draws from probabilities, and those are asked for.
    """
    if temperature == 0:
        return sampling_probabilities(logits, temperature, top_k, top_p)
    return sampling_probabilities(logits, temperature, top_k, top_p).log()


@sampling.misconception
def one_cut_only(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """If top_k is given you do not use top_p.

    The two may be used together: first top_k, then top_p among what is left.
    """
    return sampling_probabilities(logits, temperature, top_k, top_p if top_k is None else None)


@sampling.misconception
def warmed_after_the_cuts(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """You use the temperature after the cuts.

    top_p then looks at probabilities that nobody draws from. The temperature comes first.
    """
    if temperature == 0:
        return one_hot_of_the_first(logits)
    kept = sampling_probabilities(logits, 1.0, top_k, top_p) > 0
    return (logits / temperature).masked_fill(~kept, -torch.inf).softmax(-1)


# PatchEmbedding -------------------------------------------------------------------------------------------------------

patching = Exercise(
    PatchEmbedding,
    section="A picture is a sequence",
    minutes=15,
    difficulty=2,
    why="Whatever can be cut into a sequence can be read by the same stack.",
    hints=[
        "A picture of 4 × 6 pixels and patches of 2 × 2: number the patches row by row. Which pixels are in patch 1?",
        "Give height and width two dimensions each: which patch, and where inside it. Then order six dimensions.",
        "Inside a patch: channel, row, column. `flatten` makes one dimension of neighbours, so order them first.",
        "The class token is one vector for the whole batch (`expand`); it comes first, and has the first position.",
    ],
)


def build_patches(cls: Any, channels: int = 3, size: int = 2, d_model: int = 5, n_patches: int = 6) -> Any:
    return seeded(cls(channels, size, d_model, n_patches))


def some_pictures() -> tuple[Tensor]:
    return (normal(2, 3, 4, 6, seed="pictures"),)


def patched(
    patch_embedding: Any, batch: int, channels: int, size: int, rows: int, columns: int, d_model: int
) -> Tensor:
    layer = build_patches(patch_embedding, channels, size, d_model, rows * columns)
    return layer(normal(batch, channels, rows * size, columns * size, seed="of these sizes"))


@patching.probe
def wide_pictures(patch_embedding: Any) -> Seen:
    """two pictures of three colours, 2 × 3 patches of 2 × 2 pixels"""
    return {"vectors": build_patches(patch_embedding)(*some_pictures())}


@patching.probe
def tall_pictures(patch_embedding: Any) -> Seen:
    """pictures that are higher than wide, of sizes that change from check to check"""
    channels, size, columns, d_model = distinct(2, 6, 4, seed="sizes")
    return {"vectors": patched(patch_embedding, 2, channels, size, columns + 1, columns, d_model)}


@patching.probe
def square_pictures(patch_embedding: Any) -> Seen:
    """square pictures of 3 × 3 patches"""
    channels, size = distinct(2, 5, 2, seed="square")
    return {"vectors": patched(patch_embedding, 3, channels, size, 3, 3, 7)}


@patching.probe
def single_pixels(patch_embedding: Any) -> Seen:
    """patches of one pixel, grey pictures, a picture that is one patch"""
    rows, columns = distinct(2, 6, 2, seed="grey")
    return {
        "of pixels": patched(patch_embedding, 1, 3, 1, rows, columns, 4),
        "grey": patched(patch_embedding, 2, 1, 3, columns, rows, 5),
        "one patch": patched(patch_embedding, 3, 2, rows, 1, 1, 6),
    }


usual(patching, some_pictures, build_patches)


@patching.misconception
class ReshapedOnly(PatchEmbedding):
    """You reshape the picture into patches without changing the order of its numbers.

    In memory a row of pixels goes across all patches of that row. What you cut are strips, and strips of one channel.
    """

    def _patches(self, images: Tensor) -> Tensor:
        return images.reshape(len(images), len(self.positions) - 1, -1)


@patching.misconception
class ChannelsLast(PatchEmbedding):
    """Inside a patch your numbers are in the order row, column, channel.

    So are pixels in many picture files. Here the channel comes first, as a convolution's weight has it.
    """

    def _patches(self, images: Tensor) -> Tensor:
        grid = images.unflatten(2, (-1, self.size)).unflatten(4, (-1, self.size))
        return grid.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


@patching.misconception
class ColumnByColumn(PatchEmbedding):
    """Your patches go down the columns.

    They are to be read as a text is: row by row. Otherwise each gets the position of another.
    """

    def _patches(self, images: Tensor) -> Tensor:
        grid = images.unflatten(2, (-1, self.size)).unflatten(4, (-1, self.size))
        return grid.permute(0, 4, 2, 1, 3, 5).flatten(3).flatten(1, 2)


@patching.misconception
class TurnedOver(PatchEmbedding):
    """Inside a patch you read the columns first: each patch is turned over its diagonal.

    The order is channel, row, column: the column changes fastest.
    """

    def _patches(self, images: Tensor) -> Tensor:
        grid = images.unflatten(2, (-1, self.size)).unflatten(4, (-1, self.size))
        return grid.permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2)


@patching.misconception
class UnfoldedUnturned(PatchEmbedding):
    """You reshape what `unfold` gives, where its dimensions should be exchanged.

    `F.unfold` puts the numbers of a patch before the patches: (batch, channels·size², patch). Transpose it.
    """

    def _patches(self, images: Tensor) -> Tensor:
        columns = F.unfold(images, self.size, stride=self.size)
        return columns.reshape(len(images), columns.shape[2], columns.shape[1])


@patching.misconception
class ChannelsApart(PatchEmbedding):
    """Your patches are of one channel each, several of them in a row.

    You flatten while the channel still stands before the patches. Bring it behind them first.
    """

    def _patches(self, images: Tensor) -> Tensor:
        windows = images.unfold(2, self.size, self.size).unfold(3, self.size, self.size)
        return windows.reshape(len(images), len(self.positions) - 1, -1)


@patching.misconception
class HeightForWidth(PatchEmbedding):
    """You take height for width and width for height.

    Pictures are (batch, channels, height, width): how many rows there are comes first.
    """

    def _patches(self, images: Tensor) -> Tensor:
        batch, channels, height, width = images.shape
        return super()._patches(images.reshape(batch, channels, width, height))


@patching.misconception
class ClassTokenLast(PatchEmbedding):
    """Your class token stands at the end.

    It comes first, at the same place whatever the number of patches: whoever reads it looks at 0.
    """

    def _with_class_token(self, vectors: Tensor) -> Tensor:
        return torch.cat([vectors, self.class_token.expand(len(vectors), 1, -1)], dim=1)


@patching.misconception
class ClassTokenEmpty(PatchEmbedding):
    """You put zeros where the class token should stand.

    It is a parameter: what it asks of the patches is learned.
    """

    def _with_class_token(self, vectors: Tensor) -> Tensor:
        return F.pad(vectors, (0, 0, 1, 0))


@patching.misconception
class ClassTokenMissing(PatchEmbedding):
    """There is no class token in what you return.

    Without it no vector belongs to the picture as a whole.
    """

    def forward(self, images: Tensor) -> Tensor:
        return self.proj(self._patches(images)) + self.positions[1:]


@patching.misconception
class PositionsForgotten(PatchEmbedding):
    """You do not add the positions.

    Attention sees a set: without them the patches could be shuffled and nobody would notice.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors


@patching.misconception
class ClassTokenWithoutPosition(PatchEmbedding):
    """Your class token gets no position.

    There is one for each vector; positions[0] is the class token's.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors + F.pad(self.positions[1:], (0, 0, 1, 0))


@patching.misconception
class LastPositionForTheClassToken(PatchEmbedding):
    """You give the patches the first positions, and the class token the last.

    Positions go with the vectors as they stand: the class token is first, so it has positions[0].
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors + self.positions.roll(1, dims=0)


@patching.misconception
class PositionsMultiplied(PatchEmbedding):
    """You multiply by the positions.

    They are added: where a vector stands should not decide how loud it is.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors * self.positions


@patching.misconception
class OnePositionForAll(PatchEmbedding):
    """All your vectors get the same position.

    Each has a row of its own.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors + self.positions[0]


@patching.misconception
class EnlargedByTheRoot(PatchEmbedding):
    """You multiply the patches by √d_model.

    That was for a table of tokens that is shared with the output. A projection finds its own scale.
    """

    def forward(self, images: Tensor) -> Tensor:
        vectors = self.proj(self._patches(images)) * self.proj.out_features**0.5
        return self._placed(self._with_class_token(vectors))


@patching.misconception
class BiasForgotten(PatchEmbedding):
    """You use the weight of `proj`, but not its bias.

    `self.proj(…)` does both.
    """

    def forward(self, images: Tensor) -> Tensor:
        return self._placed(self._with_class_token(self._patches(images) @ self.proj.weight.T))


# LoRALinear -----------------------------------------------------------------------------------------------------------

low_rank = Exercise(
    LoRALinear,
    section="Tuning a little",
    minutes=10,
    difficulty=2,
    why="A large model is fitted to a new task with a hundredth of its numbers, and merged it costs nothing.",
    hints=[
        "Write the shapes: x (..., d_in), a (rank, d_in), b (d_out, rank). Which products give (..., d_out)?",
        "The correction is multiplied by alpha / rank. What does the frozen layer add, and what its bias?",
        "One matrix does what the two do together: b @ a has the shape of the layer's weight. Which layer has the sum?",
        "A new nn.Linear has parameters of its own: copy numbers into them, under `torch.no_grad()`.",
    ],
)

ALPHA = 5.0


def build_tuned(cls: Any, d_in: int = 4, d_out: int = 6, rank: int = 2, alpha: float = ALPHA, bias: bool = True) -> Any:
    """A module whose numbers are all drawn, b's too."""
    return seeded(cls(nn.Linear(d_in, d_out, bias=bias), rank, alpha))


def some_vectors() -> tuple[Tensor]:
    return (normal(3, 4, seed="vectors"),)


def drawn_sizes(seed: str) -> tuple[int, int, int, float]:
    d_in, d_out, rank = distinct(2, 8, 3, seed=seed)
    return d_in, d_out, rank, number(3.0, 9.0, seed=f"alpha of {seed}")


@low_rank.probe
def corrected(lora_linear: Any) -> Seen:
    """three vectors of four components, rank 2"""
    return {"output": build_tuned(lora_linear)(*some_vectors())}


@low_rank.probe
def without_a_bias(lora_linear: Any) -> Seen:
    """a layer without bias, two batch dimensions, sizes that change from check to check"""
    sizes = drawn_sizes("no bias")
    return {"output": build_tuned(lora_linear, *sizes, bias=False)(normal(2, 3, sizes[0], seed="batches"))}


@low_rank.probe
def small_ranks_and_large(lora_linear: Any) -> Seen:
    """rank 1, a rank above both widths, widths of 1"""
    alpha = number(2.0, 7.0, seed="alpha")
    return {
        "rank 1": build_tuned(lora_linear, 5, 3, 1, alpha)(normal(5, seed="one vector")),
        "rank 9": build_tuned(lora_linear, 3, 2, 9, alpha)(normal(4, 3, seed="narrow")),
        "one component in": build_tuned(lora_linear, 1, 4, 3, alpha)(normal(2, 1, seed="single")),
        "one component out": build_tuned(lora_linear, 4, 1, 2, alpha)(normal(5, 4, seed="to a single one")),
    }


@low_rank.probe
def at_the_start(lora_linear: Any) -> Seen:
    """a module as it is made, before any training"""
    d_in, d_out, rank, alpha = drawn_sizes("start")
    layer = lora_linear(seeded(nn.Linear(d_in, d_out)), rank, alpha)
    return {"b at first": layer.b, "output": layer(normal(3, d_in, seed="at the start"))}


def plain_layer(merged: Any) -> Seen:
    """What is to be seen of a merged layer."""
    if not isinstance(merged, nn.Linear):
        return {"merged() is an nn.Linear": False}
    return {
        "merged() is an nn.Linear": True,
        "weight of merged()": merged.weight,
        "merged() has a bias": merged.bias is not None,
        **({} if merged.bias is None else {"bias of merged()": merged.bias}),
    }


@low_rank.probe
def merged_with_a_bias(lora_linear: Any) -> Seen:
    """what `merged` makes of a layer with bias"""
    layer = build_tuned(lora_linear, *drawn_sizes("merged"))
    return plain_layer(layer.merged()) | {"output before": layer(normal(2, layer.linear.in_features, seed="unmerged"))}


@low_rank.probe
def merged_without_a_bias(lora_linear: Any) -> Seen:
    """what `merged` makes of a layer without bias"""
    layer = build_tuned(lora_linear, *drawn_sizes("merged bare"), bias=False)
    return plain_layer(layer.merged()) | {"output before": layer(normal(2, layer.linear.in_features, seed="bare"))}


@low_rank.probe
def after_merging(lora_linear: Any) -> Seen:
    """the module itself after `merged`, and after what was merged is trained on"""
    sizes = drawn_sizes("after")
    layer, x = build_tuned(lora_linear, *sizes), normal(3, sizes[0], seed="after")
    plain = layer.merged()
    found = {"output after merging": layer(x)}
    if not isinstance(plain, nn.Linear):
        return found
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.fill_(7.0)
    return found | {"output after changing what was merged": layer(x)}


@low_rank.property
def frozen(lora_linear: Any) -> Seen:
    """which parameters are trained

    The layer that was given should be kept itself, not a copy, and be frozen, its bias too; only a and b are trained.
    """
    linear = nn.Linear(3, 2)
    layer = lora_linear(linear, 2, 1.0)
    trained = {f"{name} is trained": p.requires_grad for name, p in layer.named_parameters()}
    return {"the very layer": layer.linear is linear, **trained}


@low_rank.property
def gradients_of_the_correction(lora_linear: Any) -> Seen:
    """the gradients with respect to x, a and b

    The values are right but the gradients are not. Something on the way cuts the graph: `.detach()`, `.data`,
    `torch.no_grad()`.
    """
    layer, (x,) = build_tuned(lora_linear), some_vectors()
    x.requires_grad_()
    output = layer(x)
    total = (output * torch.cos(torch.arange(1.0, output.numel() + 1)).view(output.shape)).sum()
    leaves = {"x": x, "a": layer.a, "b": layer.b}
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {
        f"gradient of {n}": torch.zeros_like(leaves[n]) if g is None else g for n, g in zip(leaves, found, strict=True)
    }


@low_rank.property
def merged_in_its_own_dtype(lora_linear: Any) -> Seen:
    """a float64 layer that is merged

    `merged` does not keep the dtype of the layer: a float64 layer gives a float64 layer.
    """
    return {"weight": build_tuned(lora_linear).double().merged().weight}


usual(low_rank, some_vectors, build_tuned, without=("gradients",))


@low_rank.misconception
class AlphaUndivided(LoRALinear):
    """You multiply by alpha, and do not divide by the rank.

    With the division, another rank needs no other learning rate: each of the parts counts for less.
    """

    def _scale(self) -> float:
        return self.alpha


@low_rank.misconception
class DividedByTheRootOfTheRank(LoRALinear):
    """You divide alpha by the root of the rank.

    A later paper proposes that. Here it is alpha / rank, as in the first.
    """

    def _scale(self) -> float:
        return self.alpha / self.rank**0.5


@low_rank.misconception
class RankOverAlpha(LoRALinear):
    """You multiply by rank / alpha: the fraction is upside down.

    alpha says how large the correction is, so it stands above.
    """

    def _scale(self) -> float:
        return self.rank / self.alpha


@low_rank.misconception
class Unscaled(LoRALinear):
    """You do not scale the correction.

    It is to be multiplied by alpha / rank.
    """

    def _scale(self) -> float:
        return 1.0


@low_rank.misconception
class CorrectionAlone(LoRALinear):
    """You return the correction without what the frozen layer says.

    The layer knows what it has learned; the correction is added to it.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self._correction(x)


@low_rank.misconception
class CorrectionUnused(LoRALinear):
    """You return what the frozen layer says, without the correction.

    Then training a and b changes nothing.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@low_rank.misconception
class EverythingScaled(LoRALinear):
    """You scale the sum, the frozen layer's part too.

    alpha / rank belongs to the correction; the module should start as the layer.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self._scale() * (self.linear(x) + x @ self.a.T @ self.b.T)


@low_rank.misconception
class FrozenBiasForgotten(LoRALinear):
    """You use the weight of the frozen layer, but not its bias.

    `self.linear(x)` does both.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.linear.weight.T + self._correction(x)


@low_rank.misconception
class ScaledTwice(LoRALinear):
    """You scale the correction twice.

    Once is enough: behind a, behind b, or at the end.
    """

    def _correction(self, x: Tensor) -> Tensor:
        return self._scale() * super()._correction(x)


@low_rank.misconception
class BentInTheMiddle(LoRALinear):
    """There is a ReLU between your two matrices.

    Then no single matrix does the same, and nothing could be merged. The correction is linear.
    """

    def _correction(self, x: Tensor) -> Tensor:
        return self._scale() * torch.relu(x @ self.a.T) @ self.b.T


@low_rank.misconception
class MergedWithoutCorrection(LoRALinear):
    """What you merge is a copy of the frozen layer: the correction is lost.

    The new weight is the frozen one plus what a and b do together.
    """

    def merged(self) -> nn.Linear:
        plain = self._empty_copy()
        plain.load_state_dict(self.linear.state_dict())
        return plain


@low_rank.misconception
class MergedIsNoLayer(LoRALinear):
    """`merged` does not return an nn.Linear.

    Whoever merges wants to put a plain layer where this module was: a weight alone, or the module itself, is none.
    """

    def merged(self) -> Any:
        return super().merged().weight


@low_rank.misconception
class MergedUnscaled(LoRALinear):
    """You merge b @ a without its scale.

    The merged layer should say what the module says, where the correction is multiplied by alpha / rank.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        with torch.no_grad():
            plain.weight.copy_(self.linear.weight + self.b @ self.a)
        return plain


@low_rank.misconception
class MergedIntoTheLayer(LoRALinear):
    """You add the correction to the frozen layer itself.

    After that the module adds it a second time. `merged` makes a new layer and leaves this module as it is.
    """

    def merged(self) -> nn.Linear:
        with torch.no_grad():
            self.linear.weight += self._scale() * self.b @ self.a
        return self.linear


@low_rank.misconception
class MergedBiasLost(LoRALinear):
    """Your merged layer has no bias.

    If the frozen layer has one, the merged layer has the same.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        plain.bias = None  # type: ignore[assignment]
        return plain


@low_rank.misconception
class MergedBiasAlways(LoRALinear):
    """Your merged layer has a bias even if the frozen layer has none.

    With zeros it says the same, but it is another layer: it would learn a bias that nobody asked for.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        if plain.bias is None:
            plain.bias = nn.Parameter(torch.zeros_like(plain.weight[:, 0]))
        return plain


@low_rank.misconception
class MergedBiasShared(LoRALinear):
    """Your merged layer shares its bias with the frozen layer.

    Whoever trains one of them changes the other. Copy the numbers.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        plain.bias = self.linear.bias
        return plain


@low_rank.misconception
class CorrectionEmptied(LoRALinear):
    """After merging you set the correction to 0.

    `merged` changes nothing of this module: it can go on being trained, and be merged again.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        with torch.no_grad():
            self.b.zero_()
        return plain
