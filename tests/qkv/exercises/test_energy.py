"""Chapter 13: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "energy/wrong/beta_misplaced/free_energy": "not_divided_by_beta",
    "energy/wrong/counts_everything/free_energy": "averaged_powers",
    "energy/wrong/beta_misplaced/variational_objective": "entropy_times_beta",
    "energy/wrong/counts_everything/kernel_regression": "averaged_over_dimensions",
    "energy/wrong/beta_misplaced/hopfield_energy": "match_not_divided + number_not_divided",
    "energy/wrong/beta_misplaced/hopfield_retrieve": "beta_divides",
    "energy/wrong/distances/hopfield_retrieve": "compared_by_distance",
    "energy/wrong/beta_misplaced/info_nce": "temperature_multiplied",
    "energy/wrong/distances/info_nce": "by_distance",
    "energy/wrong/beta_misplaced/info_nce_gradient": "chain_rule_forgotten",
    "energy/wrong/counts_everything/info_nce_gradient": "every_score_counted",
    "energy/wrong/beta_misplaced/clip_loss": "logarithm_used_as_it_is",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


def test_torchs_own_log_sum_exp_is_noticed(told):
    result = told("energy/wrong/library/free_energy")
    assert result.score == 0
    assert "which this exercise asks you to do without" in result.message
