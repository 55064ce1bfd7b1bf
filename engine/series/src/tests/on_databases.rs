//! The tests of the API again, with series in databases: the responses are the same.

/// One test for each that is there for the embedded store, run by a function that says where the series are.
macro_rules! the_same_tests {
    ($on:path) => {
        $crate::tests::on_databases::the_same_tests! {
            $on;
            rows_are_queried:
                queries::every_path_has_its_shape,
                queries::values_are_put_together_by_period,
                queries::times_and_places_bound_what_is_found,
                queries::aggregates_of_entities_are_rows_of_a_page,
                queries::an_id_of_two_types_is_ambiguous,
                queries::an_id_whose_other_type_has_no_rows_any_more_is_not_ambiguous,
                queries::last_values_are_queried_by_a_body,
                queries::a_type_that_a_body_names_has_commas,
                queries::last_values_have_no_two_members_of_one_name,
                queries::rows_of_two_service_paths_are_one_entity,
                queries::a_long_result_is_written_in_parts,
                queries::last_values_of_many_entities_are_written_in_parts,
                queries::many_entities_are_listed_in_parts;
            values_are_aggregated:
                further_queries::all_are_counted_whichever_page_is_asked_for,
                further_queries::values_are_measured_by_period,
                further_queries::gaps_are_filled,
                further_queries::the_last_rows_of_each_entity_are_found,
                further_queries::last_rows_of_many_entities_are_streamed,
                further_queries::rows_are_objects_one_after_the_other;
            entities_are_notified:
                notify::faulty_bodies_are_refused_whole,
                notify::the_first_type_of_an_attribute_wins,
                notify::entities_without_anything_are_kept_and_emptied_ones_are_not,
                notify::places_become_geojson_with_a_middle,
                notify::entities_of_ngsi_ld_are_taken,
                notify::service_paths_are_one_or_one_each,
                notify::a_long_body_is_taken_by_a_thread_of_its_own;
            what_is_kept_is_shown:
                hidden::what_is_kept_is_shown_where_it_is_asked_for,
                hidden::what_is_kept_is_not_seen_by_others,
                hidden::tables_have_columns_for_what_is_kept,
                hidden::last_values_have_their_metadata,
                hidden::a_value_has_the_metadata_that_it_came_with,
                hidden::what_is_kept_goes_with_its_rows,
                hidden::temporal_instances_have_their_metadata;
            rows_are_deleted:
                deletes::rows_of_an_entity_are_deleted,
                deletes::rows_of_a_type_are_deleted_by_service_path,
                deletes::rows_of_the_entities_of_a_type_that_are_named_are_deleted,
                deletes::a_type_has_commas_in_its_name,
                deletes::a_type_is_dropped_with_its_attributes;
            lines_and_samples_are_written:
                incoming::lines_are_written,
                incoming::one_bad_line_refuses_all,
                incoming::samples_are_written;
            rows_are_for_other_programs:
                row_formats::rows_are_lines_of_json,
                row_formats::rows_are_records_of_csv,
                row_formats::a_long_response_is_streamed,
                row_formats::rows_are_records_of_parquet;
            temporal_access:
                temporal::access::tenants_do_not_see_each_other,
                temporal::access::a_role_sees_and_writes_what_is_granted,
                temporal::access::rows_of_a_role_are_limited_and_the_response_says_so;
            temporal_entities_are_created:
                temporal::create::an_entity_is_created_and_then_extended,
                temporal::create::instances_of_one_moment_are_in_different_rows_and_none_is_lost,
                temporal::create::faulty_entities_are_refused_whole,
                temporal::create::what_was_notified_and_what_was_created_are_one;
            temporal_queries:
                temporal::queries::an_entity_is_retrieved_in_each_representation,
                temporal::queries::times_bound_what_is_found,
                temporal::queries::conditions_are_asked_of_the_instances_of_the_time,
                temporal::queries::places_are_looked_for,
                temporal::queries::values_are_put_together_by_period,
                temporal::queries::entities_come_page_by_page,
                temporal::queries::queries_are_sent_as_bodies,
                temporal::queries::json_ld_has_a_context;
            graphql_queries:
                graphql::queries::entities_have_their_values_over_time,
                graphql::queries::lists_are_ranges_and_pages_of_them,
                graphql::queries::values_are_measured_by_reading_them,
                graphql::queries::what_is_deleted_is_not_there,
                graphql::queries::points_have_their_metadata,
                graphql::queries::types_that_come_change_the_schema;
            graphql_events:
                graphql::events::each_row_is_told_once_and_in_order,
                graphql::events::live_queries_are_signalled_what_they_depend_on;
            graphql_permissions:
                graphql::permissions::what_is_hidden_is_not_there,
                graphql::permissions::events_are_of_what_can_be_seen,
                graphql::permissions::the_calls_show_what_is_granted,
                graphql::permissions::the_calls_write_what_is_granted;
        }
    };
    ($on:path; $($module:ident: $($path:path),+;)+) => {
        $(
            #[test]
            fn $module() {
                $($on($path);)+
            }
        )+
    };
}

pub(crate) use the_same_tests;
