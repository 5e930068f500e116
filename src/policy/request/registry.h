// The registrations of the request policies: see policies.def and policy/registry.h.
#pragma once

#include "policy/registry.h"
#include "policy/request/policy.h"

namespace tutti::request_policies {

#define TUTTI_REQUEST_POLICY(policy) extern const Registration<RequestPolicy> policy;
#include "policy/request/policies.def"
#undef TUTTI_REQUEST_POLICY

}  // namespace tutti::request_policies
