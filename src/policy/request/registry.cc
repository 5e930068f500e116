#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr const Registration<RequestPolicy>* kPolicies[] = {
#define TUTTI_REQUEST_POLICY(policy) &request_policies::policy,
#include "policy/request/policies.def"
#undef TUTTI_REQUEST_POLICY
};
constexpr Registry<RequestPolicy> kRegistry("request policy", kPolicies);

}  // namespace

std::vector<std::string> request_policy_names() { return kRegistry.names(); }

Result<std::unique_ptr<RequestPolicy>> make_request_policy(std::string_view text) {
  return kRegistry.make(text);
}

}  // namespace tutti
