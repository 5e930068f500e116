#include "server/data/data_server.h"

#include <fmt/format.h>

#include <utility>

#include "server/data/data_session.h"

namespace tutti {

DataServer::DataServer(Env env, Store& store, std::unique_ptr<RequestPolicy> policy, ServerKey key,
                       DataServerOptions options)
    : env_(std::move(env)),
      store_(store),
      key_(key),
      options_(std::move(options)),
      started_(env_.clock.now()),
      cluster_clock_(env_.clock),
      dispatcher_(env_, store, std::move(policy), options_.boot,
                  {options_.read_grant, options_.write_grant, options_.stall, options_.transfer_limit,
                   options_.sending, DispatcherLimits().send_stall, !options_.rotational}),
      member_(env_, key_, {options_.coordinator, options_.cluster, options_.index, options_.rotational},
              cluster_clock_, dispatcher_, policy_switch_, turns_),
      enrolment_(env_, store, key_, cluster_clock_, options_.metadata, options_.cluster),
      policy_switch_(env_, dispatcher_, cluster_clock_, options_.rotational, [this] { member_.ask_now(); }),
      views_{options_.view_memory},
      scope_(env_.clock.executor()) {}

DataServer::~DataServer() = default;

Status DataServer::start() {
  if (!options_.metadata.empty())
    TUTTI_TRY(check_identity(store_.identity(), options_.cluster, options_.index));
  member_.start();
  enrolment_.start();
  return {};
}

Task<Status> DataServer::serve(std::unique_ptr<Listener> listener) {
  for (;;) {
    auto connection = co_await listener->accept();
    if (!connection.ok()) co_return connection.status();
    scope_.spawn(run_session(std::move(*connection)));
  }
}

Task<void> DataServer::run_session(std::unique_ptr<Connection> connection) {
  DataSession session(*this, std::move(connection));
  co_await session.run();
}

}  // namespace tutti
