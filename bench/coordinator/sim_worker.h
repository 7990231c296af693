// sim_worker.h: a simulated worker: a stream, and a trainer that needs no time.
//
// Role:      answers orders at once: runs one-step trials, or sends rows as fast as they are
//            acknowledged, or on request.
// Threads:   thread-safe; gRPC's threads run the reactor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "dtrain/v1/fleet.grpc.pb.h"

namespace dt::bench {

namespace v1 = ::dtrain::v1;

enum class Conduct {
  kFinishAtOnce,  // a trial is prepared, run and ended in one report
  kStreamRows,    // the next rows follow the acknowledgement of the last
  kSendWhenTold,  // rows follow SendRows
};

// Shared by all workers; must outlive them.
struct Fleet {
  std::atomic<Conduct> conduct{Conduct::kFinishAtOnce};
  int rows_per_report = 100;
  std::atomic<uint64_t> rows_acked{0};
  std::atomic<uint64_t> trials_ended{0};
  std::atomic<int> training{0};
  std::atomic<int> lost{0};  // streams that ended without a Stop
};

class SimWorker final : public grpc::ClientBidiReactor<v1::WorkerReport, v1::Orders> {
 public:
  SimWorker(Fleet& fleet, std::shared_ptr<grpc::Channel> channel, int number);

  void Connect();
  void Heartbeat();
  // Sends rows if the last were acknowledged; returns false if not.
  bool SendRows();
  // Returns the times from sending rows to their acknowledgement, with kSendWhenTold.
  std::vector<double> TakeLatencies();
  // Ends the stream; returns when it has ended.
  void Stop();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void FollowAssigned(const std::string& token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeAcked(uint64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::Item& AddItem() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Fleet& fleet_;
  const std::unique_ptr<v1::Fleet::Stub> stub_;
  const int number_;
  grpc::ClientContext context_;
  v1::Orders orders_;

  Mutex mutex_;
  CondVar changed_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool due_ ABSL_GUARDED_BY(mutex_) = false;  // `next_` must be sent
  v1::WorkerReport next_ ABSL_GUARDED_BY(mutex_);
  v1::WorkerReport sending_ ABSL_GUARDED_BY(mutex_);
  std::string token_ ABSL_GUARDED_BY(mutex_);  // of the newest attempt
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t journal_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acked_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t rows_sequence_ ABSL_GUARDED_BY(mutex_) = 0;  // of rows not acknowledged; 0: none
  uint64_t step_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t target_ ABSL_GUARDED_BY(mutex_) = 0;  // steps of the newest attempt
  absl::Time rows_sent_ ABSL_GUARDED_BY(mutex_);
  std::vector<double> latencies_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dt::bench
