// tutti model: what coordination gives in theory.
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "policy/request/analysis.h"

namespace tutti::cli {
namespace {

struct ModelOptions {
  std::uint64_t applications = 10;
  std::uint64_t servers = 8;
  bool json = false;
};

int run_model(const ModelOptions& options) {
  const double without = uncoordinated_completion(options.applications, options.servers);
  const double with = coordinated_completion(options.applications);
  const double rate = completion_reduction_rate(options.applications, options.servers);
  if (options.json) {
    return print_json({{"applications", options.applications},
                       {"servers", options.servers},
                       {"measured",
                        {{"uncoordinated", without},
                         {"coordinated", with},
                         {"reduction", completion_reduction(options.applications, options.servers)},
                         {"reduction_rate", rate}}}});
  }
  fmt::print(
      "{} applications ask {} servers at once; a server needs the time t for each of them.\n"
      "Mean completion, every server in an order of its own (formula 1): {:.3f} t\n"
      "Mean completion, all servers in the same order (formula 2):       {:.3f} t\n"
      "Reduction (formula 3):                                            {:.3f} t, {:.1f} %\n",
      options.applications, options.servers, without, with, without - with, 100 * rate);
  return kSuccess;
}

}  // namespace

void add_model(Command& root) {
  auto options = std::make_shared<ModelOptions>();
  Command model = root.add("model", "What serving applications in the same order gives in theory",
                           "tutti model --apps 10 --servers 64");
  model.option("--apps", options->applications, "Applications that ask at once")
      .show_default()
      .range(1, 100'000);
  model.option("--servers", options->servers, "Data servers").show_default().range(1, 1'000'000);
  model.flag("--json", options->json, "Print JSON");
  model.action([options] { return run_model(*options); });
}

}  // namespace tutti::cli
