// token_fuzz.cc: any bytes as a caller's token, and as a request to join: nobody gets in without a
// token, a joiner joins once, and no message contains what a caller sent.
//
// Bytes 0x01 and 0x02 stand for an observer's and a joiner's token, so that inputs may hold valid
// ones.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/net/token.h"
#include "coordinator/door/door.h"
#include "tests/testing/temp_folder.h"

namespace {

struct World {
  dt::testing::TempFolder folder;
  dt::SystemClock clock;
  std::unique_ptr<dt::Door> door = *dt::Door::Open(folder / "state", clock);
  std::string observer = Make("observer");
  std::string joiner = Make("joiner");
  std::string joined;  // the hash for which the joiner's token was used

  template <typename Act>
  auto Do(Act act) -> decltype(act()) {
    std::promise<decltype(act())> promise;
    if (!door->Post([&] { promise.set_value(act()); })) std::abort();
    return promise.get_future().get();
  }
  std::string Make(const std::string& role) {
    dt::v1::CreateTokenRequest request;
    request.set_role(role);
    request.set_name("gpu07");
    return Do([&] { return door->Create(request, "fuzz")->token(); });
  }
};

std::string Filled(std::string_view text, const World& world) {
  std::string filled;
  for (const char c : text) {
    filled += c == 1 ? world.observer : c == 2 ? world.joiner : std::string(1, c);
  }
  return filled;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World world;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(all.find('\n'), all.size());
  const std::string shown = Filled(all.substr(0, cut), world);
  const std::string hash(all.substr(std::min(cut + 1, all.size())));
  for (const char* method : {"ListTrials", "Submit", "Session", "Join", "NoSuchMethod"}) {
    const auto caller = world.door->Admit(method, {shown, {}, "peer"});
    if (caller.ok()) {
      const std::string& token = caller->role == dt::Role::kJoiner ? world.joiner : world.observer;
      const bool basic = (shown[0] | 0x20) == 'b' && (shown[1] | 0x20) == 'a';
      if (!basic && shown.find(token) == std::string::npos) std::abort();
    } else if (shown.size() > 8 &&
               caller.status().message().find(shown.substr(shown.size() - 8)) !=
                   absl::string_view::npos &&
               dt::IsToken(shown.substr(shown.size() - std::min<size_t>(shown.size(), 68)))) {
      std::abort();
    }
  }
  const auto caller = world.door->Admit("Join", {"Bearer " + world.joiner, {}, "peer"});
  if (!caller.ok()) std::abort();
  dt::v1::JoinRequest request;
  if (!request.ParseFromString(hash)) request.set_hash(hash);
  const auto joined = world.Do([&] { return world.door->Join(request, *caller); });
  if (!joined.ok()) return 0;
  if (world.joined.empty()) world.joined = request.hash();
  if (world.joined != request.hash()) std::abort();
  return 0;
}
