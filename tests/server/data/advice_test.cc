// What the coordinator advises reaches the policy that decides.
#include "tests/policy/listening_policy.h"
#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

class DispatcherAdvice : public DataServerTest {
 protected:
  std::unique_ptr<RequestPolicy> listening() {
    return std::make_unique<ListeningPolicy>(*make_request_policy("fcfs"), heard_);
  }
  Env env_{clock_, fabric_.node(server_node_), random_, {}};
  std::vector<Advice> heard_;
  Dispatcher dispatcher_{env_, *used_, *make_request_policy("fcfs"), 0};
};

TEST_F(DispatcherAdvice, APolicyThatTakesOverHearsWhatIsStillValid) {
  const Advice advice{1, clock_.now() + 1_s, {{7, false, 0_s, 1_s}}, {}};
  dispatcher_.advise(advice);
  dispatcher_.change_policy(listening());
  ASSERT_EQ(heard_.size(), 1U);
  EXPECT_EQ(heard_.front(), advice);
  simulation_.run_until(simulation_.now() + 2_s);
  dispatcher_.change_policy(listening());
  EXPECT_EQ(heard_.size(), 1U) << "it has expired";
}

TEST_F(DispatcherAdvice, OtherPoliciesIgnoreIt) {
  for (const std::string& name : request_policy_names()) {
    dispatcher_.change_policy(*make_request_policy(name));
    dispatcher_.advise({1, clock_.now() + 1_s, {}, {}});
    EXPECT_EQ(dispatcher_.queued(), 0U);
  }
}

}  // namespace
}  // namespace tutti
