// control_service.cc: one line per method; what they share is Forward and ReadThrough.
#include "coordinator/rpc/control_service.h"

#include <sys/statvfs.h>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/net/grpc_settings.h"
#include "common/version.h"
#include "coordinator/loop/entropy.h"

namespace dt {
namespace {

absl::Status CheckDeadline(const grpc::CallbackServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  // A second of tolerance: the clocks of two hosts differ.
  if (left <= absl::ToChronoSeconds(limits::kCallDeadlineMax) + std::chrono::seconds(1)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the call has no deadline, or one over ",
                                                 absl::ToInt64Seconds(limits::kCallDeadlineMax),
                                                 " s; set a shorter one"));
}

// What the process adds to an answer of the core.
template <typename Response>
void AddFacts(const ProcessFacts&, Response&) {}
void AddFacts(const ProcessFacts& facts, v1::GetStatusResponse& response) {
  response.set_program_version(kVersion);
  response.set_program_revision(kRevision);
  response.set_http_address(facts.http_address);
  response.set_started_wall_ms(facts.started_wall_ms);
}

absl::Status Busy(const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the coordinator is busy: ", what, "; try again in a second"));
}

}  // namespace

// One unary call under way: counts its end and its time.
class ControlService::Call {
 public:
  Call(RpcStats& stats, Method method, Context* context)
      : stats_(stats), method_(method), reactor_(context->DefaultReactor()), start_(absl::Now()) {}

  void Finish(const absl::Status& status) const {
    stats_.CountEnd(method_, static_cast<grpc::StatusCode>(status.raw_code()));
    stats_.CountTime(method_, absl::Now() - start_);
    reactor_->Finish(ToGrpcStatus(status));
  }
  Reactor* reactor() const { return reactor_; }

 private:
  RpcStats& stats_;
  Method method_;
  Reactor* reactor_;
  absl::Time start_;
};

void ControlService::Ask(ClientCall call, Continuation continuation) {
  call.reply = calls_.Add(std::move(continuation));
  const ReplyId id = call.reply;
  Event event{std::move(call), FreshEntropy()};
  if (mailbox_.Post(std::move(event), PostClass::kControl)) return;
  if (auto refused = calls_.Take(id)) {
    (*refused)(mailbox_.Closed()
                   ? absl::UnavailableError("the coordinator is stopping; try again in a moment")
                   : Busy("its queue of events is full"),
               nullptr);
  }
}

template <typename Request, typename Response>
ControlService::Reactor* ControlService::Forward(Method method, Context* context,
                                                 const Request* request, Response* response) {
  const Call call(stats_, method, context);
  if (absl::Status status = CheckDeadline(*context); !status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  ClientCall event;
  event.request = *request;
  if constexpr (std::is_same_v<Request, v1::SubmitRequest>) event.disk_low = DiskLow();
  Ask(std::move(event), [this, call, response](absl::Status status, auto message) {
    if (status.ok() && message != nullptr) {
      *response = std::move(static_cast<Response&>(*message));
      AddFacts(facts_, *response);
    }
    call.Finish(status);
  });
  return call.reactor();
}

// The core says which experiment is meant, and that it and its trial exist; then the reader thread
// reads.
template <typename Request, typename Response, typename Read>
ControlService::Reactor* ControlService::ReadThrough(Method method, Context* context,
                                                     const Request* request, Response* response,
                                                     Read read) {
  const Call call(stats_, method, context);
  if (absl::Status status = CheckDeadline(*context); !status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  // One trial, of the one that is meant or the first: what is asked for here is its number.
  v1::ListTrialsRequest which;
  which.set_experiment(request->experiment());
  which.set_last(request->last());
  which.set_trial(request->trial());
  which.set_page_size(1);
  ClientCall event;
  event.request = which;
  Ask(std::move(event),
      [this, call, request = *request, response, read](absl::Status status, auto message) mutable {
        if (!status.ok()) return call.Finish(status);
        const auto& found = static_cast<const v1::ListTrialsResponse&>(*message);
        DT_CHECK(!found.trials().empty());  // no experiment is without trials
        request.set_experiment(found.trials(0).experiment());
        ReadWork work = [call, request, response, read](Reader& reader) {
          auto answer = read(reader, request);
          if (answer.ok()) *response = *std::move(answer);
          call.Finish(answer.status());
        };
        if (!reader_.Post(std::move(work))) call.Finish(Busy("too many reads wait"));
      });
  return call.reactor();
}

bool ControlService::DiskLow() const {
  struct statvfs info {};
  // A directory that cannot be asked is found out by the next commit.
  if (statvfs(facts_.state_dir.c_str(), &info) != 0) return false;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize < limits::kFreeBytesToSubmit;
}

ControlService::Reactor* ControlService::Submit(Context* context, const v1::SubmitRequest* request,
                                                v1::SubmitResponse* response) {
  return Forward(Method::kSubmit, context, request, response);
}
ControlService::Reactor* ControlService::ListExperiments(Context* context,
                                                         const v1::ListExperimentsRequest* request,
                                                         v1::ListExperimentsResponse* response) {
  return Forward(Method::kListExperiments, context, request, response);
}
ControlService::Reactor* ControlService::GetExperiment(Context* context,
                                                       const v1::GetExperimentRequest* request,
                                                       v1::GetExperimentResponse* response) {
  return Forward(Method::kGetExperiment, context, request, response);
}
ControlService::Reactor* ControlService::ListTrials(Context* context,
                                                    const v1::ListTrialsRequest* request,
                                                    v1::ListTrialsResponse* response) {
  return Forward(Method::kListTrials, context, request, response);
}
ControlService::Reactor* ControlService::ListWorkers(Context* context,
                                                     const v1::ListWorkersRequest* request,
                                                     v1::ListWorkersResponse* response) {
  return Forward(Method::kListWorkers, context, request, response);
}
ControlService::Reactor* ControlService::ListCheckpoints(Context* context,
                                                         const v1::ListCheckpointsRequest* request,
                                                         v1::ListCheckpointsResponse* response) {
  return Forward(Method::kListCheckpoints, context, request, response);
}
ControlService::Reactor* ControlService::ExplainTrial(Context* context,
                                                      const v1::ExplainTrialRequest* request,
                                                      v1::ExplainTrialResponse* response) {
  return Forward(Method::kExplainTrial, context, request, response);
}
ControlService::Reactor* ControlService::ReadMetrics(Context* context,
                                                     const v1::ReadMetricsRequest* request,
                                                     v1::ReadMetricsResponse* response) {
  return ReadThrough(
      Method::kReadMetrics, context, request, response,
      [](Reader& reader, const auto& resolved) { return reader.ReadMetrics(resolved); });
}
ControlService::Reactor* ControlService::ReadLogs(Context* context,
                                                  const v1::ReadLogsRequest* request,
                                                  v1::ReadLogsResponse* response) {
  return ReadThrough(
      Method::kReadLogs, context, request, response,
      [](Reader& reader, const auto& resolved) { return reader.ReadLogs(resolved); });
}
ControlService::Reactor* ControlService::Cancel(Context* context, const v1::CancelRequest* request,
                                                v1::CancelResponse* response) {
  return Forward(Method::kCancel, context, request, response);
}
ControlService::Reactor* ControlService::Retry(Context* context, const v1::RetryRequest* request,
                                               v1::RetryResponse* response) {
  return Forward(Method::kRetry, context, request, response);
}
ControlService::Reactor* ControlService::Delete(Context* context, const v1::DeleteRequest* request,
                                                v1::DeleteResponse* response) {
  return Forward(Method::kDelete, context, request, response);
}
ControlService::Reactor* ControlService::GetStatus(Context* context,
                                                   const v1::GetStatusRequest* request,
                                                   v1::GetStatusResponse* response) {
  return Forward(Method::kGetStatus, context, request, response);
}

}  // namespace dt
