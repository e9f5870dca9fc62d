"""What `make test-quick` leaves out: what takes more than about a second and has something cheaper beside it.

Every room stays in, and of the tests that all methods share three methods.
Costs are seconds of the processor; `pytest --durations=30` names what has grown.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from driftopt import methods

TESTS = Path(__file__).parents[1]

# Whole files: runs whose statistics are judged, processes that are killed, browsers, protocols, pages.
LONG_FILES = (
    "cli/test_demo.py",
    "comparison/test_compare.py",
    "comparison/test_core_installation.py",
    "docs/test_code_blocks.py",
    "docs/test_data_page.py",
    "docs/test_documents.py",
    "docs/test_readme.py",
    "docs/test_site.py",
    "docs/test_studies.py",
    "drivers/test_finite.py",
    "drivers/test_minimization.py",
    "drivers/test_simulation.py",
    "drivers/test_trace.py",
    "methods/test_auto.py",
    "methods/test_auto_parallel.py",
    "methods/test_auto_whole_walk.py",
    "methods/test_estimators.py",
    "methods/test_field_answers.py",
    "paper/test_reproduction.py",
    "problems/test_known_answers.py",
    "problems/test_pricing.py",
    "problems/test_strategic.py",
    "problems/test_synthetic.py",
    "report/test_page.py",
    "runtime/test_executable_cache.py",
    "runtime/test_forks.py",
    "service/test_docs_page.py",
    "service/test_page.py",
    "service/test_page_looks.py",
    "service/test_page_trouble.py",
    "service/test_page_undo.py",
    "service/test_schema.py",
    "service/test_server.py",
    "stationarity/test_asymptotic.py",
    "stationarity/test_bounded.py",
    "study/test_amended_interleavings.py",
    "study/test_interleavings.py",
    "study/test_safe_steps.py",
    "study/test_swarm.py",
    "study/test_web_page.py",
    "sweep/test_cluster.py",
    "sweep/test_sweep.py",
    "test_fuzz.py",
    "test_shapes.py",
)

# Single tests of other files.
LONG_TESTS = (
    "answers/test_covariates.py::test_covariates_that_no_one_names_change_nothing",
    "answers/test_covariates.py::test_minimize_takes_covariates_and_says_what_they_explain",
    "answers/test_covariates.py::test_simulation_adjusts_for_the_person_drawn",
    "answers/test_covariates.py::test_vectorized_functions_give_a_table_of_covariates",
    "answers/test_covariates.py::test_whatever_comes_the_method_is_told_finite_values",
    "answers/test_guard.py::test_drift_and_steep_improvement_make_no_honest_answer_implausible",
    "answers/test_guard.py::test_of_honest_answers_with_heavy_tails_fewer_than_one_in_10000_is_held",
    "answers/test_in_simulation.py::test_a_walk_ends_at_the_limit_in_simulation",
    "answers/test_in_simulation.py::test_lanes_of_other_batches_and_limits_are_the_runs_alone",
    "answers/test_in_simulation.py::test_simulate_walks_the_path_of_minimize",
    "answers/test_in_simulation.py::test_the_steps_give_the_same_bits_on_both_kinds_of_arrays",
    "cli/test_cli.py::test_a_reader_that_has_enough_is_no_trouble",
    "cli/test_study.py::test_export_plot_and_stationarity",
    "cli/test_study.py::test_refusals_are_json_where_json_is_asked_for",
    "cli/test_study.py::test_show_fits_eighty_columns",
    "docs/test_architecture.py::test_the_walk_of_a_study",
    "docs/test_architecture.py::test_the_walk_of_minimize",
    "docs/test_architecture.py::test_the_walk_of_reproduce",
    "docs/test_architecture.py::test_the_walk_of_simulate_many",
    "docs/test_docstrings.py::test_no_other_style",
    "drivers/test_contract.py::test_planted_faults_of_the_law_are_found",
    "drivers/test_contract.py::test_problems_without_fields_stack_as_many_as_they_are",
    "drivers/test_method_contract.py::test_the_right_method_passes",
    "drivers/test_contract.py::test_the_right_problem_passes",
    "drivers/test_contract.py::test_what_comes_with_driftopt_keeps_its_promises",
    "drivers/test_devices.py::test_four_devices_share_the_lanes_and_give_the_bits_of_one",
    "drivers/test_drivers_agree.py::test_a_window_of_another_size_changes_nothing_but_memory",
    "drivers/test_drivers_agree.py::test_asking_twice_is_asking_once",
    "drivers/test_drivers_agree.py::test_simulate_and_minimize_walk_the_same_path",
    "drivers/test_drivers_agree.py::test_the_quick_host_is_the_host_to_rounding",
    "drivers/test_late_queries.py::test_a_run_that_cannot_know_says_so",
    "drivers/test_late_queries.py::test_auto_reports_f_at_x_or_a_little_more",
    "drivers/test_late_queries.py::test_every_method_reports_an_unbiased_mean_of_f_where_it_asked_last",
    "drivers/test_late_queries.py::test_scipy_users_find_a_number_that_they_can_compare",
    "drivers/test_memory.py::test_a_world_with_memory_moves_one_deployment_after_the_other",
    "drivers/test_memory.py::test_settle_holds_each_decision_and_looks_at_the_last",
    "drivers/test_minimization_failures.py::test_a_bad_value_names_its_query_and_loses_nothing",
    "drivers/test_observed.py::test_a_world_that_forgets_at_once_is_walked_as_one_without_memory",
    "drivers/test_observed.py::test_every_lane_equals_its_single_run",
    "drivers/test_observed.py::test_maximize_with_a_formula_is_minimize_of_its_negative",
    "drivers/test_observed.py::test_minimize_with_a_formula_is_the_simulation",
    "drivers/test_observed.py::test_mistakes_with_a_formula_are_named",
    "drivers/test_observed.py::test_the_formula_is_reflected_where_queries_are",
    "drivers/test_one_kernel.py::test_a_process_that_ends_waits_for_the_compiler",
    "drivers/test_simulation_door.py::test_a_problem_may_hold_no_numbers",
    "methods/test_auto_doubt.py::test_a_fall_at_x_is_no_proof_where_answers_are_heavy_tailed",
    "methods/test_auto_doubt.py::test_a_walk_that_has_surely_come_down_is_doubted_less_than_in_the_edition_before",
    "methods/test_auto_doubt.py::test_few_deployments_gain_more_than_with_the_edition_before",
    "methods/test_auto_doubt.py::test_where_values_at_x_have_risen_less_of_the_walk_is_recommended",
    "methods/test_auto_doubt.py::test_where_values_fall_by_themselves_a_walk_of_noise_is_doubted_as_before",
    "methods/test_auto_taken_back.py::test_a_pair_that_is_taken_back_costs_no_more_than_one_pair_is_worth",
    "methods/test_directions.py::test_moments",
    "methods/test_directions.py::test_the_same_directions_in_either_precision",
    "methods/test_field_identities.py::test_a_pair_sees_the_same_noise_and_zo_sgd_does_not",
    "methods/test_field_identities.py::test_dfo_that_holds_nothing_is_the_one_point_method_with_decaying_numbers",
    "methods/test_field_identities.py::test_gfm_plus_with_period_one_is_gfm",
    "methods/test_field_identities.py::test_guided_with_free_directions_and_flat_numbers_is_zo_ga",
    "methods/test_field_identities.py::test_guided_without_a_guide_is_the_companion_with_shorter_directions",
    "methods/test_field_identities.py::test_hlf_without_its_filters_is_descent_on_the_residual",
    "methods/test_field_identities.py::test_holding_for_an_epoch_is_settling",
    "methods/test_field_identities.py::test_same_sample_o2nc_with_fresh_samples_and_a_reset_is_option_one",
    "methods/test_learners.py::test_last_block_is_the_last",
    "methods/test_learners.py::test_random_block_is_uniform",
    "methods/test_solvers.py::test_the_minimum_is_found",
    "methods/test_solvers.py::test_the_value_never_rises",
    "methods/test_solvers.py::test_where_nothing_falls_the_search_stays",
    "methods/test_transcription.py::test_a_slightly_wrong_number_is_noticed",
    "outside/test_outside.py::test_a_library_keeps_the_budget_repeats_itself_and_stays_inside",
    "outside/test_outside.py::test_a_sweep_settles_as_a_simulation_does",
    "outside/test_outside.py::test_another_seed_is_another_run",
    "outside/test_outside.py::test_the_oracle_is_the_simulators",
    "outside/test_outside.py::test_they_are_tuned_and_judged_beside_ours",
    "outside/test_outside.py::test_what_is_missing_or_does_not_fit_is_named_before_anything_runs",
    "paper/test_real_data.py::test_published_weeks",
    "paper/test_real_data.py::test_the_start_scores_146_on_every_split",
    "problems/test_credit_shift.py::test_methods_that_retrain_come_to_the_stable_point",
    "problems/test_credit_shift.py::test_only_some_features_move_and_the_constant_does_not",
    "problems/test_credit_shift.py::test_the_optimum_is_lower_than_everything_near_it",
    "problems/test_credit_shift.py::test_the_stable_point_is_where_exact_retraining_rests",
    "problems/test_memory_and_models.py::test_a_fitted_family_draws_what_the_problem_draws",
    "problems/test_memory_and_models.py::test_a_world_that_forgets_at_once_is_the_problem_without_memory",
    "problems/test_memory_and_models.py::test_prices_that_are_held_bring_the_demand_to_its_law_at_rest",
    "problems/test_memory_and_models.py::test_what_was_not_taken_does_not_count",
    "problems/test_on_grid.py::test_a_walk_finds_its_way_on_a_grid_as_coarse_as_the_radius",
    "problems/test_on_grid.py::test_queries_and_judgement_are_those_of_the_inner_problem_at_grid_points",
    "report/test_formats.py::test_foreign_text_becomes_harmless",
    "report/test_picture.py::test_a_full_disk_leaves_the_old_picture",
    "report/test_picture.py::test_a_path_that_names_no_picture_is_refused",
    "report/test_statistics.py::test_a_true_difference_is_seen",
    "report/test_statistics.py::test_the_bootstrap_interval_covers_the_mean_of_small_normal_samples",
    "report/test_statistics.py::test_the_test_of_averages_keeps_its_level",
    "report/test_statistics.py::test_welch_keeps_its_level_with_unequal_variances",
    "rng/test_threefry.py::test_normal_numbers_are_the_quantiles_of_their_cells",
    "rng/test_threefry.py::test_the_law_is_standard_normal",
    "rng/test_threefry.py::test_the_numbers_are_jaxs_own",
    "runtime/test_jax_settings.py::test_entries_of_the_cache_are_put_in_place_whole_and_half_ones_are_replaced",
    "runtime/test_reachable_code.py::test_another_process_finds_the_same",
    "runtime/test_reachable_code.py::test_closures_defaults_attributes_and_state_are_seen",
    "runtime/test_traced_code.py::test_another_process_finds_the_same",
    "service/test_access.py::test_guessing_is_slowed_down_and_locks_nobody_out",
    "service/test_access.py::test_requests_without_a_token_are_counted_and_lock_nobody_out",
    "service/test_access.py::test_the_right_role_is_enough",
    "service/test_api.py::test_a_held_answer_is_accepted",
    "service/test_api.py::test_trials_come_in_pages",
    "service/test_deploy.py::test_the_container_is_healthy_while_its_database_answers",
    "service/test_events.py::test_what_other_processes_do_is_told_too",
    "service/test_rate_limits.py::test_a_server_stops_soon_where_its_database_is_away",
    "service/test_rate_limits.py::test_a_token_may_send_so_many_requests",
    "space/test_bounds.py::test_folding_stays_inside_keeps_insiders_and_never_stretches",
    "space/test_constraints.py::test_minimize_keeps_them_and_finds_the_constrained_optimum",
    "space/test_grid.py::test_constraints_hold_on_the_grid",
    "space/test_grid.py::test_minimize_on_a_grid_as_coarse_as_the_radius_reaches_nine_tenths_of_the_continuous_gain",
    "space/test_units.py::test_a_method_that_sees_more_than_values_keeps_its_own_units",
    "space/test_units.py::test_a_run_in_other_units_is_the_same_run",
    "space/test_units.py::test_equal_widths_are_one_radius_and_unequal_ones_are_units",
    "space/test_way.py::test_a_study_keeps_max_change_grid_and_constraints_at_once",
    "space/test_way.py::test_every_step_is_on_the_grid_and_keeps_the_constraints",
    "study/test_amending.py::test_a_corrected_study_is_one_that_was_told_so_at_once",
    "study/test_amending.py::test_every_method_can_be_put_right",
    "study/test_amending.py::test_history_is_kept_and_shown",
    "study/test_amending.py::test_nothing_is_averaged_over_an_iteration_that_was_passed_over",
    "study/test_amending.py::test_the_mistake_itself_leads_elsewhere",
    "study/test_change_point.py::test_false_alarms_are_rare",
    "study/test_checkpoint.py::test_any_history_is_the_same_with_a_checkpoint_and_without",
    "study/test_checkpoint.py::test_every_method_goes_on_from_its_numbers",
    "study/test_checkpoint.py::test_one_that_does_not_fit_is_replaced_by_the_replay",
    "study/test_conformance.py::test_failures_are_counted_by_whoever_reads_the_log",
    "study/test_conformance.py::test_two_studies_in_one_store_do_not_meet",
    "study/test_conformance_policies.py::test_a_start_on_a_bound_is_left",
    "study/test_conformance_policies.py::test_control_watches_the_world_and_moves_nothing",
    "study/test_conformance_policies.py::test_export_keeps_every_trial",
    "study/test_conformance_policies.py::test_improvement_is_measured_by_fresh_deployments",
    "study/test_conformance_policies.py::test_stationarity_of_the_recommendation",
    "study/test_conformance_policies.py::test_stationarity_where_events_are_rare",
    "study/test_damage.py::test_no_byte_changes_what_a_study_says_in_silence",
    "study/test_decisions.py::test_a_decision_on_the_asked_cell_is_no_failure",
    "study/test_decisions.py::test_a_shop_with_tags_reaches_what_the_tidy_one_does",
    "study/test_decisions.py::test_distances_are_in_radii",
    "study/test_decisions.py::test_every_asked_point_and_the_recommendation_can_be_deployed",
    "study/test_decisions.py::test_the_replay_gives_the_same_decisions_bit_for_bit",
    "study/test_display.py::test_a_long_decision_is_folded",
    "study/test_doors.py::test_a_full_disk_leaves_the_old_file",
    "study/test_doors.py::test_a_value_too_large_to_compute_with_is_a_failure_and_the_study_goes_on",
    "study/test_doors.py::test_names_of_every_tongue_are_let_in",
    "study/test_exact_json.py::test_every_plain_value_comes_back_as_it_was",
    "study/test_extend.py::test_every_method_goes_on",
    "study/test_extend.py::test_the_plan_follows_from_where_it_was_extended",
    "study/test_finite.py::test_mean_and_drift_of_any_values_are_finite",
    "study/test_finite.py::test_the_improvement_over_any_start_is_finite",
    "study/test_guard.py::test_a_lost_decimal_point_is_held_and_its_point_asked_again",
    "study/test_guard.py::test_a_tidy_walk_downhill_is_not_held",
    "study/test_guard.py::test_a_world_that_has_changed_is_believed_after_a_while",
    "study/test_guard.py::test_on_the_command_line_exit_code_6",
    "study/test_guard.py::test_released_before_its_point_was_asked_again",
    "study/test_guard_kinds.py::test_confirming_a_great_improvement_holds_nothing",
    "study/test_holders.py::test_several_who_ask_at_once_get_what_each_would_have_got",
    "study/test_keys.py::test_keys_go_with_their_study",
    "study/test_plot.py::test_of_many_coordinates_those_that_moved_most_are_drawn",
    "study/test_plot.py::test_the_picture_has_dates_control_and_a_panel_a_coordinate",
    "study/test_promised_confirmation.py::test_whatever_happens_the_limit_holds_and_the_pair_is_paid",
    "study/test_replay.py::test_a_live_study_walks_like_a_simulation",
    "study/test_replay.py::test_a_resumed_study_equals_the_uninterrupted_one",
    "study/test_replay.py::test_a_server_of_an_older_format_is_brought_to_the_present_one",
    "study/test_replay.py::test_databases_of_every_format_still_open",
    "study/test_settle.py::test_the_shell_says_keep",
    "study/test_show.py::test_any_name_fits_and_its_command_is_one_word",
    "study/test_show.py::test_what_it_says_to_ask_for_can_be_asked",
    "study/test_side_information.py::test_a_study_is_told_what_minimize_is_told",
    "study/test_side_information.py::test_another_process_replays_the_same_state",
    "study/test_trouble.py::test_a_server_that_restarts_is_waited_for",
    "study/test_trouble.py::test_who_may_only_read_can_look",
    "sweep/test_cutting.py::test_every_division_gives_the_same_bits_wherever_it_runs",
    "sweep/test_cutting.py::test_without_units_another_division_rounds_otherwise",
    "sweep/test_job_queue.py::test_a_sweep_through_a_queue_that_loses_jobs_gives_the_same_bits",
    "sweep/test_planning.py::test_configurations_that_cannot_start_cost_nothing",
    "sweep/test_planning.py::test_runs_queries_and_parts_are_those_of_the_sweep",
    "sweep/test_planning.py::test_ten_million_runs_are_planned_without_running_or_building_them",
    "sweep/test_planning.py::test_the_command_refuses_a_large_comparison_where_nobody_can_be_asked",
    "sweep/test_reuse.py::test_a_callback_to_what_cannot_be_seen_is_never_reused",
    "sweep/test_reuse.py::test_a_class_made_in_a_notebook_is_known_by_what_it_computes",
    "sweep/test_reuse.py::test_a_global_counts_for_the_optimisers_of_others",
    "sweep/test_reuse.py::test_a_global_that_a_method_reads_counts_in_every_run",
    "sweep/test_reuse.py::test_a_global_that_a_problem_reads_is_part_of_the_work",
    "sweep/test_reuse.py::test_a_method_of_somebody_else_is_known_by_what_it_computes",
    "sweep/test_reuse.py::test_a_second_process_reuses_what_the_first_kept",
    "sweep/test_reuse.py::test_metrics_are_part_of_the_work",
    "sweep/test_workers.py::test_a_sweep_is_cut_for_the_workers_and_threads_for_none",
    "sweep/test_workers.py::test_another_scheduler_goes_on_with_other_workers",
    "sweep/test_workers.py::test_what_would_not_pay_is_not_cut",
    "test_imports.py::test_nobody_waits_for_scipy_before_it_is_needed",
    "test_instances.py::test_an_instance_works_wherever_a_name_does",
    "test_instances.py::test_the_radius_is_given_once",
    "test_plugins.py::test_an_installed_package_is_at_home_in_every_entry",
    "test_plugins.py::test_what_a_method_sees_is_asked_with_the_numbers_of_its_user",
    "theory/test_field_plans.py::test_guided_keeps_its_promise_on_a_valley",
)

OTHER_STORES = ("postgres", "[http")  # of the tests that all stores share those on SQLite stay
THREE_METHODS = ("auto", "zo-o2nc-2pt", "gzo-hs")  # two that see values, one that sees ξ


def below(path: Path, names: tuple[str, ...]) -> bool:
    """Whether a file is one of these, or in one of these folders, of tests/."""
    place = str(path)
    return any(place == one or place.startswith(one + os.sep) for one in _places(names))


@cache
def _places(names: tuple[str, ...]) -> list[str]:
    """Their paths as text: thousands of tests are asked, and paths compare slowly."""
    return [str(TESTS / name) for name in names]


def mark_long(items: list[pytest.Item]) -> None:
    """Mark as slow what the quick loop leaves out."""
    for item in items:
        name, another_method = _function(item), _methods_of(item) - set(THREE_METHODS)
        another_store = any(store in item.nodeid for store in OTHER_STORES)
        if below(item.path, LONG_FILES) or name in LONG_TESTS or another_method or another_store:
            item.add_marker(pytest.mark.slow)


def _function(item: pytest.Item) -> str:
    """The file below tests/ and the function."""
    if not item.path.is_relative_to(TESTS):
        return item.nodeid
    return f"{item.path.relative_to(TESTS).as_posix()}::{item.name.partition('[')[0]}"


def _methods_of(item: pytest.Item) -> set[str]:
    """The registry's methods that a test is made for."""
    callspec = getattr(item, "callspec", None)
    given = callspec.params if callspec else {}
    return {value for key, value in given.items() if key in ("name", "any_name")} & set(methods.names())
