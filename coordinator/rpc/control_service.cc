// control_service.cc: the core answers each call, but for those of FindHandler.
#include "coordinator/rpc/control_service.h"

#include <sys/statvfs.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/version.h"
#include "coordinator/core/answer/plan/planning.h"
#include "coordinator/core/calls/submit.h"
#include "coordinator/loop/entropy.h"
#include "coordinator/rpc/submitted_file.h"
#include "coordinator/rpc/wire.h"
#include "google/protobuf/descriptor.h"

namespace dt {
namespace {

// Reads a file that arrives as text into a specification. Returns the diagnostics; if one is an
// error, `request` gets no specification.
absl::StatusOr<v1::SubmitResponse> ReadFileOf(v1::SubmitRequest& request,
                                              const MayGoOn& may_go_on) {
  return BringsFileAlone(request) ? ReadSubmittedFile(request, may_go_on) : v1::SubmitResponse();
}

// Returns whether the call ends here: the file has an error, so only the diagnostics are answered.
bool HasErrors(const v1::SubmitResponse& found, const v1::SubmitRequest& request) {
  return !found.diagnostics().empty() && !request.has_spec();
}

absl::Status Overdue() {
  return absl::DeadlineExceededError(
      "the call waited for others until its deadline; try again, with a longer one");
}

absl::Status Busy(const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the coordinator is busy: ", what, "; try again in a second"));
}

}  // namespace

ControlService::ControlService(Mailbox<Event>& mailbox, ReaderThread& reader, CodeKeeper& code,
                               RpcStats& stats, Door* door, ProcessFacts facts)
    : mailbox_(mailbox),
      reader_(reader),
      code_(code),
      stats_(stats),
      door_(door),
      facts_(std::move(facts)) {
  // Each method that the service has, as the generated WithRawCallbackMethod_… do for one.
  const auto& service = *v1::SubmitRequest::descriptor()->file()->FindServiceByName("Control");
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *service.method(i);
    const Handler handler = FindHandler(method.name());
    MarkMethodRawCallback(
        i, new grpc::internal::CallbackUnaryHandler<Bytes, Bytes>(
               [this, &method, handler](Context* context, const Bytes* bytes, Bytes* response) {
                 const Incoming incoming{method, context, bytes, response};
                 return handler == nullptr ? Forward(incoming) : (this->*handler)(incoming);
               }));
  }
}

ControlService::Handler ControlService::FindHandler(std::string_view method) {
  if (method == "GetStatus") return &ControlService::StartGetStatus;
  if (method == "Submit") return &ControlService::StartSubmit;
  if (method == "Plan") return &ControlService::StartPlan;
  if (method == "PutCode") return &ControlService::StartPutCode;
  if (method == "ReadMetrics") return &ControlService::StartReadMetrics;
  if (method == "ReadLogs") return &ControlService::StartReadLogs;
  return nullptr;
}

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

ControlService::Reactor* ControlService::Forward(const Incoming& incoming) {
  UnaryCall call = Begun(incoming);
  const std::shared_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(incoming.method.input_type())
          ->New());
  if (absl::Status status = call.Begin(*incoming.bytes, *request); !status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  ClientCall event;
  event.request = ControlRequest(std::shared_ptr<const google::protobuf::Message>(request));
  event.only_of = call.OnlyOf();
  Ask(std::move(event), [this, call, request, response = incoming.response](
                            const absl::Status& status, auto message) {
    if (status.ok() && message != nullptr) {
      FollowAnswer(*request, *message);
      *response = WriteMessage(*message);
    }
    call.Finish(status);
  });
  return call.reactor();
}

void ControlService::FollowAnswer(const google::protobuf::Message& request,
                                  google::protobuf::Message& answer) {
  if (auto* status = google::protobuf::DynamicCastToGenerated<v1::GetStatusResponse>(&answer)) {
    status->set_program_version(kVersion);
    status->set_program_revision(kRevision);
    status->set_http_address(facts_.http_address);
    // Computed from the running time, so that a wall clock that was wrong at the start does no
    // harm.
    status->set_started_wall_ms(WallMsOf(facts_.started, facts_.clock->Now()));
  }
  if (const auto* deleted =
          google::protobuf::DynamicCastToGenerated<const v1::DeleteRequest>(&request)) {
    code_.Forget(deleted->experiment());
  }
}

absl::Status ControlService::Prepare(size_t bytes, absl::Time deadline, WorkPool::Work&& work) {
  if (pool_.Post(bytes, deadline, std::move(work))) return absl::OkStatus();
  return Busy("too many submissions and plans wait");
}

ControlService::Reactor* ControlService::StartGetStatus(const Incoming& incoming) {
  std::shared_ptr<const v1::GetStatusResponse> status;
  if (facts_.leads()) {
    MutexLock lock(&mutex_);
    status = status_;
  }
  if (status == nullptr) return Forward(incoming);
  UnaryCall call = Begun(incoming);
  v1::GetStatusRequest request;
  const absl::Status begun = call.Begin(*incoming.bytes, request);
  if (begun.ok()) {
    v1::GetStatusResponse answer = *status;
    FollowAnswer(request, answer);
    *incoming.response = WriteMessage(answer);
  }
  call.Finish(begun);
  return call.reactor();
}

ControlService::Reactor* ControlService::StartSubmit(const Incoming& incoming) {
  UnaryCall call = Begun(incoming);
  v1::SubmitRequest request;
  if (absl::Status status = call.Begin(*incoming.bytes, request); !status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  const absl::Time deadline = call.deadline();
  SubmitFor(std::move(request), deadline,
            [call, response = incoming.response](const absl::Status& end,
                                                 const v1::SubmitResponse& answer) {
              if (end.ok()) *response = WriteMessage(answer);
              const uint64_t number = answer.experiment();
              call.Finish(end, number == 0 ? "" : absl::StrCat("experiment ", number));
            });
  return call.reactor();
}

void ControlService::SubmitFor(v1::SubmitRequest request, absl::Time deadline,
                               const Submitted& done) {
  const size_t bytes = request.ByteSizeLong();
  WorkPool::Work work = [this, done,
                         request = std::move(request)](const MayGoOn& may_go_on) mutable {
    PrepareSubmit(done, std::move(request), may_go_on);
  };
  if (absl::Status full = Prepare(bytes, deadline, std::move(work)); !full.ok()) done(full, {});
}

void ControlService::PrepareSubmit(const Submitted& done, v1::SubmitRequest request,
                                   const MayGoOn& may_go_on) {
  if (!may_go_on()) return done(Overdue(), {});
  absl::StatusOr<v1::SubmitResponse> read = ReadFileOf(request, may_go_on);
  if (!read.ok()) return done(read.status(), {});
  if (HasErrors(*read, request)) return done(absl::OkStatus(), *read);
  v1::SubmitResponse found = *std::move(read);
  // A dry run gives the same answer without the code.
  const std::string digest = request.dry_run() ? "" : request.spec().code().digest();
  absl::Status admitted = facts_.receivers.Admit(request.spec().notify().url());
  Submission submission =
      PrepareSubmission(std::move(request), auto_device_.load(), FreshEntropy()[0], may_go_on);
  if (absl::IsDeadlineExceeded(submission.refused)) return done(submission.refused, {});
  submission.refused.Update(std::move(admitted));
  if (digest.empty()) return AskToSubmit(done, std::move(submission), digest, found);
  auto held = [this, done, digest, found = std::move(found),
               submission =
                   std::make_shared<Submission>(std::move(submission))](const absl::Status& there) {
    if (!there.ok()) return done(there, {});
    AskToSubmit(done, std::move(*submission), digest, found);
  };
  if (!code_.Hold(digest, std::move(held))) done(Busy("too many calls wait for its code"), {});
}

void ControlService::AskToSubmit(const Submitted& done, Submission submission,
                                 const std::string& digest, const v1::SubmitResponse& found) {
  ClientCall event;
  event.disk_low = DiskLow();
  event.request = std::move(submission);
  Ask(std::move(event), [this, done, found, digest](const absl::Status& end, auto message) {
    v1::SubmitResponse answer;
    if (end.ok() && message != nullptr) {
      answer = static_cast<const v1::SubmitResponse&>(*message);
      if (!digest.empty()) code_.Name(answer.experiment(), digest);
      answer.MergeFrom(found);
    }
    if (!digest.empty()) code_.LetGo(digest);
    done(end, answer);
  });
}

ControlService::Reactor* ControlService::StartPutCode(const Incoming& incoming) {
  UnaryCall call = Begun(incoming);
  v1::PutCodeRequest request;
  absl::Status status = call.Begin(*incoming.bytes, request);
  if (status.ok() && !request.data().empty() && DiskLow()) {
    status = NoRoomOnDisk();
  }
  if (!status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  CodePart part{request.digest(), request.parts(), request.part(),
                std::move(*request.mutable_data())};
  auto done = [call, response = incoming.response](const absl::StatusOr<bool>& complete) {
    if (complete.ok()) {
      v1::PutCodeResponse answer;
      answer.set_complete(*complete);
      *response = WriteMessage(answer);
    }
    call.Finish(complete.status());
  };
  if (!code_.Put(std::move(part), done)) call.Finish(Busy("too many parts of code wait"));
  return call.reactor();
}

ControlService::Reactor* ControlService::StartPlan(const Incoming& incoming) {
  UnaryCall call = Begun(incoming);
  v1::PlanRequest request;
  if (absl::Status status = call.Begin(*incoming.bytes, request); !status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  v1::SubmitRequest submit;
  if (request.has_spec()) submit.mutable_spec()->Swap(request.mutable_spec());
  submit.set_file_name(request.file_name());
  submit.set_file_text(request.file_text());
  *submit.mutable_overrides() = request.overrides();
  submit.set_dry_run(true);
  WorkPool::Work work = [this, pending = Pending{call, incoming.response},
                         submit = std::move(submit)](const MayGoOn& may_go_on) mutable {
    PreparePlanOf(pending, std::move(submit), may_go_on);
  };
  const absl::Status full = Prepare(incoming.bytes->Length(), call.deadline(), std::move(work));
  if (!full.ok()) call.Finish(full);
  return call.reactor();
}

void ControlService::PreparePlanOf(const Pending& pending, v1::SubmitRequest request,
                                   const MayGoOn& may_go_on) {
  const UnaryCall& call = pending.call;
  if (!may_go_on()) return call.Finish(Overdue());
  absl::StatusOr<v1::SubmitResponse> read = ReadFileOf(request, may_go_on);
  v1::PlanResponse found;
  if (read.ok()) *found.mutable_diagnostics() = read->diagnostics();
  if (!read.ok() || HasErrors(*read, request)) {
    if (read.ok()) *pending.response = WriteMessage(found);
    return call.Finish(read.status());
  }
  const size_t bytes = request.ByteSizeLong();
  auto draft = std::make_shared<const PlanDraft>(
      PreparePlan(std::move(request), auto_device_.load(), FreshEntropy()[0], may_go_on));
  if (!draft->refused.ok()) return call.Finish(draft->refused);
  const PlanAsk ask = AskOf(*draft);
  ClientCall event;
  event.request = ask;
  Ask(std::move(event),
      [this, pending, found, draft, ask, bytes](const absl::Status& end, const auto&) {
        if (!end.ok()) return pending.call.Finish(end);
        WorkPool::Work work = [pending, found, draft, ask](const MayGoOn& may) {
          absl::StatusOr<v1::PlanResponse> plan = PlanOf(*draft, ask, may);
          if (plan.ok()) {
            plan->MergeFrom(found);
            *pending.response = WriteMessage(*plan);
          }
          pending.call.Finish(plan.status());
        };
        const absl::Status full = Prepare(bytes, pending.call.deadline(), std::move(work));
        if (!full.ok()) pending.call.Finish(full);
      });
}

// Asks the core to resolve the experiment and to check that it and its trial exist. Then the reader
// thread reads.
template <typename Request, typename Response>
ControlService::Reactor* ControlService::ReadThrough(
    const Incoming& incoming, absl::StatusOr<Response> (StoreReader::*read)(const Request&)) {
  UnaryCall call = Begun(incoming);
  Request request;
  if (absl::Status status = call.Begin(*incoming.bytes, request); !status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  // Asks for one trial, the named one or the first: only the experiment matters here.
  v1::ListTrialsRequest which;
  which.set_experiment(request.experiment());
  which.set_last(request.last());
  which.set_trial(request.trial());
  which.set_page_size(1);
  ClientCall event;
  event.request = which;
  Ask(std::move(event), [this, call, request, response = incoming.response, read](
                            const absl::Status& status, auto message) mutable {
    if (!status.ok()) return call.Finish(status);
    request.set_experiment(static_cast<const v1::ListTrialsResponse&>(*message).experiment());
    ReadWork work = [call, request, response, read](StoreReader& reader) {
      auto answer = (reader.*read)(request);
      if (answer.ok()) *response = WriteMessage(*answer);
      call.Finish(answer.status());
    };
    if (!reader_.Post(std::move(work))) call.Finish(Busy("too many reads wait"));
  });
  return call.reactor();
}

bool ControlService::DiskLow() const {
  struct statvfs info {};
  // If statvfs fails, the next commit will find out why.
  if (statvfs(facts_.state_dir.c_str(), &info) != 0) return false;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize < limits::kFreeBytesToSubmit;
}

ControlService::Reactor* ControlService::StartReadMetrics(const Incoming& incoming) {
  return ReadThrough(incoming, &StoreReader::ReadMetrics);
}
ControlService::Reactor* ControlService::StartReadLogs(const Incoming& incoming) {
  return ReadThrough(incoming, &StoreReader::ReadLogs);
}

}  // namespace dt
