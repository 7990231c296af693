#include "cli/commands/network_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/view/words.h"
#include "common/collectives.h"

namespace dt::cli {
namespace {

// Upper bound on names in a sentence; -o json has all.
constexpr size_t kNamed = 8;

std::string Milliseconds(double seconds) { return absl::StrFormat("%.4g ms", 1e3 * seconds); }
std::string Rate(double bytes_per_second) {
  return absl::StrCat(FormatBytes(bytes_per_second), "/s");
}

std::string WayOf(const v1::NetworkFigure& figure) {
  return figure.over() == "shared_memory" ? "shared memory" : Printable(figure.over());
}

template <typename List>
int PlaceIn(const List& words, const std::string& word) {
  return static_cast<int>(std::find(words.begin(), words.end(), word) - words.begin());
}

}  // namespace

Listing NetworkListing(const std::vector<v1::NetworkFigure>& figures) {
  std::vector<v1::NetworkFigure> ordered = figures;
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    const auto key = [](const v1::NetworkFigure& one) {
      return std::make_tuple(PlaceIn(kTimedAxes, one.axis()), PlaceIn(kCollectiveOps, one.op()),
                             one.over(), one.bytes());
    };
    return key(a) < key(b);
  });
  Listing listing;
  listing.kind = "NetworkFigureList";
  listing.columns = {"op",
                     "axis",
                     "ranks",
                     "hosts",
                     "bytes",
                     "over",
                     "rounds",
                     "seconds",
                     "least_seconds",
                     "most_seconds",
                     "algorithm_bandwidth",
                     "bus_bandwidth"};
  listing.table.columns = {{"OP"},
                           {"AXIS"},
                           {"RANKS", Align::kRight},
                           {"HOSTS", Align::kRight},
                           {"OVER"},
                           {"SIZE", Align::kRight},
                           {"TIME", Align::kRight},
                           {"BANDWIDTH", Align::kRight},
                           {"BUS", Align::kRight},
                           {"ROUNDS", Align::kRight},
                           {"SPREAD", Align::kRight}};
  listing.empty = "nothing was measured";
  for (const v1::NetworkFigure& one : ordered) {
    const double rate = static_cast<double>(one.bytes()) / one.seconds();
    const double bus = rate * BusFactor(one.op(), one.ranks());
    Json& item = listing.items.emplace_back(ToJson(one));
    item["algorithm_bandwidth"] = rate;
    item["bus_bandwidth"] = bus;
    listing.names.push_back(one.op());
    listing.table.rows.push_back(
        {{Printable(one.op())},
         {Printable(one.axis())},
         {absl::StrCat(one.ranks())},
         {absl::StrCat(one.hosts())},
         {WayOf(one)},
         {FormatBytes(static_cast<double>(one.bytes()))},
         {Milliseconds(one.seconds())},
         {Rate(rate)},
         {Rate(bus)},
         {absl::StrCat(one.rounds())},
         {FormatRatio((one.most_seconds() - one.least_seconds()) / one.seconds())}});
  }
  return listing;
}

std::string MeasuredOn(const v1::AttemptSummary& attempt) {
  std::map<std::string, std::vector<std::string>> by_device;
  std::set<std::string> hosts;
  for (const v1::AttemptMember& member : attempt.members()) {
    by_device[Printable(member.device_name())].push_back(Printable(member.worker()));
    hosts.insert(member.host());
  }
  std::vector<std::string> parts;
  for (const auto& [device, workers] : by_device) {
    const size_t named = std::min(workers.size(), kNamed);
    parts.push_back(absl::StrCat(absl::StrJoin(workers.begin(), workers.begin() + named, ", "),
                                 named < workers.size() ? ", …" : "",
                                 device.empty() ? "" : absl::StrCat(" (", device, ")")));
  }
  return absl::StrCat(Plural(static_cast<uint64_t>(attempt.members_size()), "rank"), " on ",
                      Plural(hosts.size(), "host"), ": ", absl::StrJoin(parts, "; "));
}

absl::StatusOr<BenchSlots> ChooseBenchSlots(const std::vector<v1::WorkerSummary>& workers,
                                            const std::string& device, int64_t wanted) {
  BenchSlots chosen{device, static_cast<int32_t>(wanted)};
  const auto connected = [](const v1::WorkerSummary& worker) {
    return (worker.state() == "idle" || worker.state() == "busy") && worker.mark().empty();
  };
  if (chosen.device.empty()) {
    const bool cuda = std::any_of(workers.begin(), workers.end(), [&](const auto& worker) {
      return connected(worker) && worker.device() == "cuda";
    });
    chosen.device = cuda ? "cuda" : "cpu";
  }
  int64_t idle = 0, all = 0;
  for (const v1::WorkerSummary& worker : workers) {
    if (!connected(worker) || worker.device() != chosen.device) continue;
    ++all;
    if (worker.state() == "idle") ++idle;
  }
  if (all < std::max<int64_t>(2, wanted)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a measurement between ", wanted == 0 ? "2 slots or more" : absl::StrCat(wanted, " slots"),
        " needs as many ", chosen.device, " slots, and ", all, all == 1 ? " is" : " are",
        " connected; start more workers", wanted > 2 ? ", or ask for fewer with --gpus" : ""));
  }
  if (wanted > 0) return chosen;
  const int64_t available = idle >= 2 ? idle : all;
  chosen.slots = 2;
  while (2 * chosen.slots <= available) chosen.slots *= 2;
  return chosen;
}

}  // namespace dt::cli
