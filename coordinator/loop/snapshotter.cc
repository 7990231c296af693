#include "coordinator/loop/snapshotter.h"

#include <malloc.h>

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/status.h"
#include "coordinator/loop/restore.h"
#include "spdlog/spdlog.h"

namespace dt {

Snapshotter::Snapshotter(Open open, Offer offer)
    : open_(std::move(open)), offer_(std::move(offer)), thread_([this] { Run(); }) {}

Snapshotter::~Snapshotter() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void Snapshotter::Wake() {
  MutexLock lock(&mutex_);
  due_ = true;
  changed_.NotifyAll();
}

void Snapshotter::Run() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      // The minute only bounds the wait.
      while (!due_ && !stopping_) changed_.WaitFor(&mutex_, absl::Minutes(1));
      if (stopping_) return;
      due_ = false;
    }
    const auto made = [&]() -> absl::StatusOr<StoredSnapshot> {
      DT_ASSIGN_OR_RETURN(const std::unique_ptr<JournalReader> journal, open_());
      return MakeSnapshot(*journal);
    }();
    if (made.ok()) {
      offer_(*made);
    } else {
      spdlog::error("no snapshot of the journal was made, so the next start takes longer: {}",
                    std::string(made.status().message()));
    }
    malloc_trim(0);  // a full state was held for a moment; that memory is not needed again for long
  }
}

}  // namespace dt
