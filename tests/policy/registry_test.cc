#include <gtest/gtest.h>

#include "policy/collective/plan.h"
#include "policy/request/policy.h"

namespace tutti {
namespace {

TEST(PolicyRegistry, MakesAPolicyFromNameAndParameters) {
  const auto plain = make_request_policy("fcfs");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ((*plain)->name(), "fcfs;dispatch_depth=16");
  const auto deep = make_request_policy("fcfs;dispatch_depth=3");
  ASSERT_TRUE(deep.ok());
  EXPECT_EQ((*deep)->name(), "fcfs;dispatch_depth=3");
}

TEST(PolicyRegistry, AnyNameItPrintsItAlsoReads) {
  for (const std::string& name : request_policy_names()) {
    const auto made = make_request_policy(name);
    ASSERT_TRUE(made.ok()) << name;
    const auto again = make_request_policy((*made)->name());
    ASSERT_TRUE(again.ok()) << (*made)->name();
    EXPECT_EQ((*again)->name(), (*made)->name());
  }
}

TEST(PolicyRegistry, MessagesNameTheKindAndThePolicy) {
  EXPECT_EQ(make_request_policy("fifo").status().message(),
            "request policy 'fifo' is not known: use fcfs, fcfs_serial, window, auto, orchestrated, tbf, "
            "orr, twins, "
            "io_sets, themis, visit");
  EXPECT_EQ(make_request_policy("fcfs;dispatch_depth=0").status().message(),
            "request policy fcfs: dispatch_depth=0: use a whole number from 1 to 65536");
  EXPECT_EQ(make_collective_plan("three_phase").status().message(),
            "collective plan 'three_phase' is not known: use auto, independent, two_phase, disk_directed, "
            "resonant");
  EXPECT_EQ(make_collective_plan("independent;nodes=4").status().message(),
            "collective plan independent: 'nodes=4': it takes no parameters");
}

TEST(PolicyRegistry, RefusesUnknownNamesAndParametersAndListsTheKnown) {
  const auto name = make_request_policy("fifo");
  EXPECT_EQ(name.code(), Code::invalid);
  EXPECT_NE(name.status().message().find("fcfs"), std::string::npos);
  const auto parameter = make_request_policy("fcfs;depth=3");
  EXPECT_EQ(parameter.code(), Code::invalid);
  EXPECT_NE(parameter.status().message().find("dispatch_depth"), std::string::npos);
  for (const char* bad :
       {"fcfs;dispatch_depth=0", "fcfs;dispatch_depth=x", "fcfs;dispatch_depth=3x", "fcfs;", ""}) {
    EXPECT_EQ(make_request_policy(bad).code(), Code::invalid) << bad;
  }
}

}  // namespace
}  // namespace tutti
