#include "coordinator/rpc/pulse.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "common/clock.h"
#include "common/limits.h"
#include "common/unique_fd.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/server_posix.h"
#include "grpcpp/support/byte_buffer.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

int64_t SteadyNs() { return absl::ToInt64Nanoseconds(SystemClock().Now().steady); }

}  // namespace

Pulse::Pulse(grpc::Server& server)
    : server_(server), last_ns_(SteadyNs()), thread_([this] { Run(); }) {}

void Pulse::Stop() {
  {
    MutexLock lock(&mutex_);
    over_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Pulse::Run() {
  while (Pause()) {
    if (stub_ == nullptr) Connect();
    if (stub_ == nullptr) continue;
    if (Ask()) {
      Beat();
    } else {
      stub_.reset();  // also if the server closed the connection, as it does with old ones
    }
  }
}

void Pulse::Beat() {
  last_ns_.store(SteadyNs());
  MutexLock lock(&mutex_);
  changed_.NotifyAll();
}

bool Pulse::WaitForTest(absl::Duration last, absl::Duration patience) {
  const absl::Duration end = SystemClock().Now().steady + patience;
  MutexLock lock(&mutex_);
  while (Last() <= last) {
    const absl::Duration left = end - SystemClock().Now().steady;
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(&mutex_, left);
  }
  return true;
}

bool Pulse::Pause() {
  const absl::Duration end = SystemClock().Now().steady + limits::kPulseEvery;
  MutexLock lock(&mutex_);
  while (!over_) {
    const absl::Duration left = end - SystemClock().Now().steady;
    if (left <= absl::ZeroDuration()) return true;
    changed_.WaitFor(&mutex_, left);
  }
  return false;
}

void Pulse::Connect() {
  int pair[2];
  // A lack of descriptors says nothing about the threads.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    Beat();
    return;
  }
  grpc::AddInsecureChannelFromFd(&server_, pair[0]);
  stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateInsecureChannelFromFd("pulse", pair[1]));
}

bool Pulse::Ask() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoMilliseconds(limits::kPulseEvery));
  grpc::CompletionQueue queue;
  const grpc::Slice nothing;  // a HealthCheckRequest for the server itself
  const grpc::ByteBuffer empty(&nothing, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub_->PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", empty, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);  // returns by the call's deadline
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED &&
         status.error_code() != grpc::StatusCode::UNAVAILABLE;
}

}  // namespace dt
