#include "parallel/hints.h"

#include <gtest/gtest.h>

#include "client/application.h"

namespace tutti {
namespace {

std::string value_of(const HintList& list, const std::string& key) {
  for (const auto& each : list) {
    if (each.first == key) return each.second;
  }
  return "(none)";
}

TEST(Hints, AreTakenAndComeBackAsValuesInEffect) {
  FileHints hints;
  const HintReport report = apply_hints({{"cb_nodes", "3"},
                                         {"cb_buffer_size", "1048576"},
                                         {"romio_cb_write", "enable"},
                                         {"romio_ds_read", "disable"},
                                         {"ind_rd_buffer_size", "65536"},
                                         {"striping_unit", "131072"},
                                         {"striping_factor", "2"},
                                         {"start_iodevice", "1"},
                                         {"tutti_app_id", "77"},
                                         {"tutti_collective", "two_phase"}},
                                        hints);
  EXPECT_TRUE(report.ignored.empty());
  EXPECT_TRUE(report.refused.empty());
  EXPECT_EQ(hints.layout.stripe_size, 128_KiB);
  EXPECT_EQ(hints.layout.stripe_count, 2U);
  EXPECT_EQ(hints.layout.first_server, 1);
  EXPECT_EQ(hints.application, 77U);
  Layout layout;
  layout.stripe_size = 128_KiB;
  layout.stripe_count = 2;
  layout.server_total = 4;
  const HintList used = effective_hints(hints, layout, 77, 8);
  EXPECT_EQ(value_of(used, "cb_nodes"), "3");
  EXPECT_EQ(value_of(used, "cb_buffer_size"), "1048576");
  EXPECT_EQ(value_of(used, "romio_cb_write"), "enable");
  EXPECT_EQ(value_of(used, "romio_cb_read"), "automatic");
  EXPECT_EQ(value_of(used, "romio_ds_read"), "disable");
  EXPECT_EQ(value_of(used, "ind_rd_buffer_size"), "65536");
  EXPECT_EQ(value_of(used, "striping_unit"), "131072");
  EXPECT_EQ(value_of(used, "striping_factor"), "2");
  EXPECT_EQ(value_of(used, "tutti_app_id"), "0x000000000000004d");
  EXPECT_EQ(value_of(used, "tutti_collective"), "two_phase");
  EXPECT_EQ(value_of(effective_hints(FileHints(), layout, 77, 8), "cb_nodes"), "2") << "one for each server";
  EXPECT_EQ(value_of(effective_hints(FileHints(), layout, 77, 1), "cb_nodes"), "1");
}

TEST(Hints, ValuesWithoutSenseAreRefusedAndChangeNothing) {
  FileHints hints;
  const HintReport report = apply_hints({{"cb_nodes", "none"},
                                         {"cb_buffer_size", "-1"},
                                         {"romio_cb_read", "perhaps"},
                                         {"striping_unit", "1000"},
                                         {"tutti_collective", "three_phase"},
                                         {"romio_no_indep_rw", "1"}},
                                        hints);
  EXPECT_EQ(report.refused.size(), 6U);
  EXPECT_EQ(hints.collective.cb_nodes, 0);
  EXPECT_EQ(hints.collective.cb_buffer_size, 16_MiB);
  EXPECT_EQ(hints.collective.plan, "auto");
}

TEST(Hints, KnownOnesWithoutMeaningAreListedAndUnknownOnesSkipped) {
  FileHints hints;
  const HintReport report = apply_hints({{"num_io_nodes", "4"}, {"somebody_elses", "x"}}, hints);
  EXPECT_EQ(report.ignored, std::vector<std::string>{"num_io_nodes"});
  EXPECT_TRUE(report.refused.empty());
}

TEST(Hints, NoIndependentAccessForcesCollectiveBuffering) {
  FileHints hints;
  apply_hints({{"romio_no_indep_rw", "true"}}, hints);
  EXPECT_EQ(hints.options().cb_read, Toggle::enable);
  EXPECT_EQ(hints.options().cb_write, Toggle::enable);
}

TEST(Hints, AFileOfHintsHasCommentsAndGivesWayToThePrograms) {
  const HintList file =
      parse_hints_file("# ours\ncb_nodes 2\n\n  romio_cb_write   enable # always\nlonely\n");
  ASSERT_EQ(file.size(), 2U);
  EXPECT_EQ(file[1], (std::pair<std::string, std::string>("romio_cb_write", "enable")));
  HintList own = {{"cb_nodes", "5"}};
  add_default_hints(file, own);
  EXPECT_EQ(value_of(own, "cb_nodes"), "5");
  EXPECT_EQ(value_of(own, "romio_cb_write"), "enable");
}

TEST(Hints, TravelThroughABroadcastUnchanged) {
  const HintList list = {{"a", "1"}, {"empty", ""}, {"spaces", "x y ; z"}};
  EXPECT_EQ(decode_hints(encode_hints(list)), list);
  EXPECT_TRUE(decode_hints("").empty());
}

TEST(Hints, ConfigListPicksAggregatorsByHost) {
  const std::vector<std::string> hosts = {"a", "a", "b", "b", "c", "c"};
  EXPECT_EQ(aggregators_by_host("*:1", hosts, 0), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(aggregators_by_host("b:2,*:1", hosts, 0), (std::vector<int>{0, 2, 3, 4}));
  EXPECT_EQ(aggregators_by_host("*:*", hosts, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(aggregators_by_host("c:0,*:1", hosts, 0), (std::vector<int>{0, 2}));
  EXPECT_TRUE(aggregators_by_host("*:many", hosts, 0).empty());
}

TEST(Hints, AnApplicationIsReadAsEverywhere) {
  FileHints hints;
  apply_hints({{"tutti_app_id", "0x10"}}, hints);
  EXPECT_EQ(hints.application, 16U);
  apply_hints({{"tutti_app_id", "climate"}}, hints);
  EXPECT_EQ(hints.application, *parse_application("climate"));
  EXPECT_EQ(apply_hints({{"tutti_app_id", "0"}}, hints).refused.size(), 1U);
  EXPECT_EQ(hints.application, *parse_application("climate"));
}

}  // namespace
}  // namespace tutti
