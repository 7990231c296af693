// storage_looker.cc: two mailboxes and the thread between them.
#include "worker/shell/storage_looker.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "common/limits.h"
#include "worker/shell/storage.h"

namespace dt {

StorageLooker& StorageLooker::Start(std::string folder, std::string id) {
  auto& looker = *new StorageLooker(std::move(folder), std::move(id));
  looker.thread_ = std::thread([&looker] { looker.Run(); });
  return looker;
}

StorageLooker::StorageLooker(std::string folder, std::string id)
    : folder_(std::move(folder)),
      id_(std::move(id)),
      looks_(limits::kLooksWaiting, 0),
      found_(limits::kLooksWaiting + 1, 1) {  // one more for Ended
}

void StorageLooker::Run() {
  while (!looks_.Closed()) {
    for (LookForCheckpoints& look : looks_.Drain(1, limits::kLookWait)) {
      std::erase_if(look.registered, [this](const v1::CheckpointRef& ref) {
        return !IsGone(folder_, id_, ref.path());
      });
      if (look.registered.empty()) continue;
      Tell(CheckpointsGone{look.token, std::move(look.registered)}, PostClass::kBulk);
    }
  }
  Tell(Ended{}, PostClass::kControl);
}

// A result that finds no place is dropped; the worker of a later attempt reports it.
void StorageLooker::Tell(Found found, PostClass post_class) {
  if (!found_.Post(std::move(found), post_class)) return;
  wake_.Signal();
}

bool StorageLooker::Look(LookForCheckpoints look) {
  return looks_.Post(std::move(look), PostClass::kBulk);
}

std::vector<CheckpointsGone> StorageLooker::Take() {
  wake_.Clear();
  std::vector<CheckpointsGone> all;
  for (Found& found : found_.Drain(limits::kLooksWaiting + 1, absl::ZeroDuration())) {
    if (auto* gone = std::get_if<CheckpointsGone>(&found)) all.push_back(std::move(*gone));
    ended_ = ended_ || std::holds_alternative<Ended>(found);
  }
  return all;
}

void StorageLooker::Stop(absl::Duration patience) {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + patience;
  looks_.Close();
  for (Take(); !ended_; Take()) {
    const absl::Duration left = until - clock.Now().steady;
    if (left <= absl::ZeroDuration()) return;
    pollfd wake = {wake_.fd(), POLLIN, 0};
    poll(&wake, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
  }
  thread_.join();
}

}  // namespace dt
