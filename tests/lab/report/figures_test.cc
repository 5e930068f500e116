// Figures from results to documents.
#include "lab/report/figures.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

Json bench(double ratio, std::uint64_t rate) {
  return {{"benchmark", "data"}, {"measured", {{"write_ratio", ratio}, {"ops", rate}}}};
}

Json experiment(double reduction) {
  Report report;
  report.figure("reduction", reduction, 0.298, ">= 0.298");
  report.figure("kept", true);
  return to_json({"coord-spread", "how far apart", 1}, report);
}

FigureStore store_of(const std::vector<Json>& results) {
  FigureStore store;
  EXPECT_TRUE(store.add(results).ok());
  return store;
}

std::string filled(const std::string& document, const FigureStore& store,
                   const std::vector<FigureTable>& tables = {}) {
  const auto text = fill_in_figures(document, store, tables);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

TEST(Figures, RunsOfOneResultAreARange) {
  const FigureStore store = store_of({bench(1.0712, 41'234), bench(1.37, 45'678), bench(1.2, 44'000)});
  EXPECT_EQ(*store.text("data.write_ratio"), "1.07 to 1.37");
  EXPECT_EQ(*store.text("data.ops"), "41,234 to 45,678");
  EXPECT_EQ(*store_of({bench(1.2, 44'000)}).text("data.write_ratio"), "1.2");
  EXPECT_EQ(*store_of({bench(1'234'567.8, 1)}).text("data.write_ratio"), "1,230,000");
}

TEST(Figures, NewRunsReplaceThoseOfTheSameNameOnly) {
  FigureStore store = store_of({bench(1, 1), experiment(0.3)});
  ASSERT_TRUE(store.add({bench(2, 2)}).ok());
  EXPECT_EQ(*store.text("data.write_ratio"), "2");
  EXPECT_EQ(*store.text("coord-spread.reduction"), "0.3");
}

TEST(Figures, ARealRunIsAnotherResultThanTheSimulation) {
  Report report;
  report.figure("real_reduction", 0.4);
  const FigureStore store = store_of({experiment(0.3), to_json({"coord-spread", "", 1, true}, report)});
  EXPECT_EQ(*store.text("coord-spread-real.real_reduction"), "0.4");
  EXPECT_EQ(store.command("coord-spread-real.real_reduction"), "tutti lab run coord-spread --real");
  EXPECT_EQ(store.command("coord-spread.reduction"), "tutti lab run coord-spread");
}

TEST(Figures, TheStoreReadsWhatItWrote) {
  const FigureStore store = store_of({bench(1.07, 41'234), bench(1.37, 45'678), experiment(0.28)});
  const std::string text = store.to_json().dump();
  const auto again = FigureStore::parse(text);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->to_json().dump(), text);
  EXPECT_EQ(again->table("coord-spread"), store.table("coord-spread"));
}

TEST(Figures, WhatIsNoResultIsRefusedAndChangesNothing) {
  FigureStore store = store_of({bench(1, 1)});
  for (const Json& bad :
       {Json(3), Json::object(), Json{{"benchmark", "data"}}, Json{{"measured", {{"write_ratio", 3}}}},
        Json{{"benchmark", 3}, {"measured", Json::object()}}}) {
    EXPECT_EQ(store.add({bench(2, 2), bad}).code(), Code::malformed) << bad.dump();
  }
  EXPECT_EQ(*store.text("data.write_ratio"), "1");
  for (const char* bad :
       {"", "[]", "{\"data\": 3}", "{\"data\": {\"command\": \"x\", \"figures\": {\"a\": 3}}}"})
    EXPECT_EQ(FigureStore::parse(bad).code(), Code::malformed) << bad;
}

TEST(Figures, TablesOfExperimentsSayWhatWasMissed) {
  EXPECT_EQ(store_of({experiment(0.31)}).table("coord-spread"),
            "| figure | measured | paper | asked |\n"
            "|---|---:|---:|---|\n"
            "| reduction | 0.31 | 0.298 | >= 0.298 |\n"
            "| kept | true |  |  |\n");
  EXPECT_NE(store_of({experiment(0.31), experiment(0.29)})
                .table("coord-spread")
                .find("| 0.29 to 0.31 | 0.298 | >= 0.298, **missed** |"),
            std::string::npos);
}

TEST(Figures, DocumentsAreWrittenBetweenTheMarksOnly) {
  const FigureStore store = store_of({bench(1.07, 41'234)});
  const auto tables = parse_figure_tables(
      "[[table]]\nname = \"path\"\n"
      "[[table.row]]\nwhat = \"rewrites\"\nfigures = [\"data.write_ratio\", \"data.ops\"]\n"
      "[[table.row]]\nwhat = \"MPI\"\nfigures = [\"mpi.write_ratio\"]\n",
      "figures.toml");
  ASSERT_TRUE(tables.ok()) << tables.status().to_string();
  const std::string document =
      "# Title\n<!-- figures path -->\nold\n<!-- /figures -->\n"
      "It reaches <!-- figure data.write_ratio -->9<!-- /figure --> of raw.\n";
  const std::string expected =
      "# Title\n<!-- figures path -->\n"
      "| what | command | figure |\n|---|---|---|\n"
      "| rewrites | `tutti bench data` | 1.07, 41,234 |\n"
      "| MPI |  | not measured |\n"
      "<!-- /figures -->\n"
      "It reaches <!-- figure data.write_ratio -->1.07<!-- /figure --> of raw.\n";
  EXPECT_EQ(filled(document, store, *tables), expected);
  EXPECT_EQ(filled(expected, store, *tables), expected) << "twice is once";
  EXPECT_EQ(filled("no marks <!-- of ours -->\n", store), "no marks <!-- of ours -->\n");
}

TEST(Figures, WrongMarksAreNamedByTheirLine) {
  const FigureStore store = store_of({bench(1, 1)});
  for (const auto& [document, says] :
       {std::pair{"\n<!-- figures nothing -->\n<!-- /figures -->",
                  "line 2: no table and no stored result is called 'nothing'"},
        {"<!-- figure data.reed_ratio --><!-- /figure -->",
         "line 1: 'data.reed_ratio' is no figure of `tutti bench data`"},
        {"\n\n<!-- figures data -->\n", "line 3: a mark without its <!-- /figures -->"},
        {"<!-- figure data.ops -->\n<!-- figure data.ops --><!-- /figure -->",
         "line 1: a mark without its <!-- /figure -->"}}) {
    const auto text = fill_in_figures(document, store, {});
    EXPECT_EQ(text.code(), Code::invalid);
    EXPECT_EQ(text.status().message(), says);
  }
}

}  // namespace
}  // namespace tutti
