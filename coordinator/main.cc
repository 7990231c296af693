// main.cc: dtcoord: reads flags, replays the journal, wires the parts and waits for a signal.
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/lead_limits.h"
#include "common/limits.h"
#include "common/log/logging.h"
#include "common/service_manager.h"
#include "common/status.h"
#include "common/version.h"
#include "coordinator/addresses.h"
#include "coordinator/api/answers.h"
#include "coordinator/api/api.h"
#include "coordinator/api/gate.h"
#include "coordinator/code/code_keeper.h"
#include "coordinator/door/door.h"
#include "coordinator/flags.h"
#include "coordinator/http/http_server.h"
#include "coordinator/http/metrics.h"
#include "coordinator/http/pages.h"
#include "coordinator/http_flags.h"
#include "coordinator/loop/loop.h"
#include "coordinator/loop/reader_thread.h"
#include "coordinator/loop/restore.h"
#include "coordinator/loop/snapshotter.h"
#include "coordinator/notify/sender.h"
#include "coordinator/offline_commands.h"
#include "coordinator/opened_journal.h"
#include "coordinator/replay_progress.h"
#include "coordinator/rpc/server.h"
#include "coordinator/rpc/wire.h"
#include "coordinator/standby.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr int kHeavyNice = 10;

// Every part of a running coordinator, in the order of their start.
class Coordinator {
 public:
  // `journal` may be open already; if not, it is opened in the state folder.
  Coordinator(const Flags& flags, OpenedJournal journal)
      : flags_(flags),
        mailbox_(limits::kMailboxEvents, limits::kMailboxReservedForControl),
        model_(flags.metrics_max_trials),
        metrics_(stats_, [this] { return Reports(); }),
        journal_(std::move(journal)) {}

  absl::Status Start() {
    if (journal_.store == nullptr) {
      DT_ASSIGN_OR_RETURN(journal_,
                          OpenFileJournal(flags_.state_dir,
                                          flags_.accept_loss ? AcceptLoss::kYes : AcceptLoss::kNo));
    }
    SqlStore& store = *journal_.store;
    if (flags_.auth == "tokens") {
      DT_ASSIGN_OR_RETURN(AccessStore access, journal_.open_access());
      DT_ASSIGN_OR_RETURN(door_, Door::OpenWith(std::move(access), flags_.state_dir, clock_));
    } else if (!flags_.tls.cert.empty()) {
      spdlog::warn(
          "with --auth=none everyone with a certificate of --tls-ca, a worker too, may do "
          "everything; --auth=tokens gives each caller the rights of the certificate's role");
    }
    // Starts HTTP before the replay, which may take a while; /readyz reports that meanwhile.
    DT_RETURN_IF_ERROR(StartHttp());
    DT_ASSIGN_OR_RETURN(SenderOptions notify, NotifyOf(flags_.notify));
    DT_ASSIGN_OR_RETURN(State state, ReadState(notify.own_receiver));
    if (!journal_.losses.empty()) {
      DT_RETURN_IF_ERROR(store.DropRowsUnless(
          [&state](const AttemptId& id) { return FindAttempt(state.durable, id) != nullptr; }));
    }
    DT_RETURN_IF_ERROR(OpenCode(state));
    DT_RETURN_IF_ERROR(OpenReaders());
    snapshotter_ = std::make_unique<Snapshotter>(
        journal_.open_journal,
        [&store](StoredSnapshot snapshot) { store.OfferSnapshot(std::move(snapshot)); });
    store.AskForSnapshots(limits::kSnapshotRecords, [this] { snapshotter_->Wake(); });
    const ServerOptions options{flags_.listen,
                                flags_.tls,
                                {flags_.state_dir, http_->address(), started_, &clock_,
                                 notify.receivers, [&store] { return store.LeadIsCertain(); }},
                                limits::kStreams,
                                door_.get()};
    journal_.waiting.reset();
    DT_ASSIGN_OR_RETURN(auto server,
                        RpcServer::Start(options, mailbox_, *reader_thread_, *code_, stats_));
    server_ = std::move(server);
    api_ = std::make_unique<Api>(
        [this](ClientCall call, Continuation continuation) {
          server_->control().Ask(std::move(call), std::move(continuation));
        },
        [this](v1::SubmitRequest request, ControlService::Submitted done) {
          server_->control().SubmitFor(std::move(request), absl::Now() + limits::kPreparingPatience,
                                       std::move(done));
        },
        *page_thread_, *heavy_thread_, clock_, *gate_,
        ApiFacts{http_->address(), [this] { return Notices(); }, started_});
    DT_RETURN_IF_ERROR(StartSender(std::move(notify), state.durable));
    loop_ = std::make_unique<CoreLoop>(
        std::move(state), LoopPorts{mailbox_, store, *server_, clock_, model_,
                                    [this](auto scrape) { metrics_.SetScrape(scrape); },
                                    [this](const auto& notice) { sender_->Tell(notice); }});
    serving_.store(true);
    return absl::OkStatus();
  }

  // Returns once the core loop has ended: after `Stop`, or with the error that ended it.
  absl::Status Serve() {
    std::thread loop([this] {
      loop_status_ = loop_->Run();
      loop_ended_.store(true);
      kill(getpid(), SIGTERM);  // wakes the thread that waits for signals
    });
    if (absl::Status status = Announce(); !status.ok()) {
      mailbox_.Close();
      loop.join();
      // The journal is undamaged, so the next start need not check it.
      if (loop_status_.ok()) DT_RETURN_IF_ERROR(Stop());
      return status;
    }
    WaitForSignal();
    NotifyServiceManager("STOPPING=1");
    metrics_.SetReadiness(Metrics::Readiness::kNotReady);
    server_->SetHealth(RpcServer::Health::kNotServing);
    mailbox_.Close();
    loop.join();
    return loop_status_;
  }

  // Cleans up after a failed `Start`. The journal is unchanged, so the next start need not check
  // it.
  void GiveUp() {
    if (reader_thread_ != nullptr) reader_thread_->Stop();
    if (page_thread_ != nullptr) page_thread_->Stop();
    if (heavy_thread_ != nullptr) heavy_thread_->Stop();
    if (code_ != nullptr) code_->Stop();
    snapshotter_.reset();
    if (journal_.store == nullptr) return;
    if (absl::Status status = journal_.store->Close(); !status.ok()) {
      spdlog::error("closing the journal: {}", std::string(status.message()));
    }
  }

  absl::Status Stop() {
    reader_thread_->Stop();
    page_thread_->Stop();
    heavy_thread_->Stop();
    code_->Stop();
    server_->Shutdown();
    snapshotter_.reset();
    return journal_.store->Close();
  }

 private:
  absl::Status StartHttp() {
    gate_ = std::make_unique<HttpGate>(
        door_.get(), GateRules{!IsLocalAddress(flags_.http),
                               WhyActsAreClosed(flags_.http, flags_.listen, flags_.tls)});
    DT_ASSIGN_OR_RETURN(http_,
                        HttpServer::Start(flags_.http, [this](const auto& request, auto reply) {
                          AnswerHttp(request, reply);
                        }));
    return absl::OkStatus();
  }
  absl::Status OpenReaders() {
    DT_ASSIGN_OR_RETURN(reader_, journal_.open_reader());
    reader_thread_ = std::make_unique<ReaderThread>(*reader_);
    DT_ASSIGN_OR_RETURN(page_reader_, journal_.open_reader());
    page_thread_ = std::make_unique<ReaderThread>(*page_reader_);
    DT_ASSIGN_OR_RETURN(heavy_reader_, journal_.open_reader());
    heavy_thread_ = std::make_unique<ReaderThread>(*heavy_reader_);
    // On Linux this lowers the priority of this thread alone: all other work goes before a report.
    if (!heavy_thread_->Post([](StoreReader&) { setpriority(PRIO_PROCESS, 0, kHeavyNice); })) {
      return absl::InternalError("the thread of reports takes no work");
    }
    return absl::OkStatus();
  }
  absl::StatusOr<State> ReadState(const v1::Notify& own_receiver) {
    DT_ASSIGN_OR_RETURN(const GangProtection protection, ProtectionOf(flags_.protection));
    ReplayProgress progress(journal_.store->RecordCount());
    return Restore(
        *journal_.store, clock_, model_, [&progress] { progress.Count(); }, own_receiver,
        protection);
  }
  absl::Status StartSender(SenderOptions options, const DurableState& durable) {
    options.journal = durable.journal_id;
    DT_ASSIGN_OR_RETURN(
        sender_, Sender::Start(std::move(options), clock_, [this](const Settled& settled) {
          return mailbox_.Post(Event{NoticeDone{settled.number, settled.outcome}, {}},
                               PostClass::kBulk);
        }));
    // Sends notices that the last process did not settle; their receivers may already have them.
    for (const auto& [number, notice] : durable.notices) sender_->Tell(notice);
    return absl::OkStatus();
  }
  // Keeps the code that experiments name. Missing code costs its trials, not the start.
  absl::Status OpenCode(const State& state) {
    const std::string folder = flags_.database.code_dir.empty() ? CodeFolderOf(flags_.state_dir)
                                                                : flags_.database.code_dir;
    DT_ASSIGN_OR_RETURN(code_, CodeKeeper::Start(folder));
    for (const auto& [id, experiment] : state.durable.experiments) {
      if (experiment.spec.has_code()) code_->Name(id, experiment.spec.code().digest());
    }
    for (const ExperimentId id : code_->Missing()) {
      spdlog::error(
          "the code of experiment {} is not in {}: its trials cannot start; restore that folder "
          "from a backup, or submit the experiment again",
          id, folder);
    }
    return absl::OkStatus();
  }
  absl::Status Announce() {
    metrics_.SetReadiness(Metrics::Readiness::kReady);
    server_->SetHealth(RpcServer::Health::kServing);
    if (!flags_.addresses_file.empty()) {
      DT_RETURN_IF_ERROR(
          WriteAddresses(flags_.addresses_file, server_->address(), http_->address()));
    }
    spdlog::info("dtcoord {} serves {} and http://{}/; journal {}", kVersion, server_->address(),
                 http_->address(), journal_.store->place());
    NotifyServiceManager("READY=1");
    return absl::OkStatus();
  }

  // SIGTERM and SIGINT are blocked in every thread. Takes one of them here, and feeds the watchdog
  // between waits.
  void WaitForSignal() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    const bool watched = WatchdogPeriod() > absl::ZeroDuration();
    const timespec pause{0, absl::ToInt64Nanoseconds(limits::kStandbyLook)};
    while (sigtimedwait(&signals, nullptr, &pause) < 0) {
      if (loop_ended_.load()) return;
      NoteLead();
      if (watched && LoopHealth().ok()) NotifyServiceManager("WATCHDOG=1");
    }
  }
  // Sets the readiness: not ready while another coordinator may lead, and ready again once the
  // database has answered.
  void NoteLead() {
    const bool certain = journal_.store->LeadIsCertain();
    if (certain == metrics_.Ready()) return;
    spdlog::warn(certain ? "the database answers again: this coordinator is ready"
                         : "the database does not answer, and another coordinator may lead soon: "
                           "this one is not ready");
    metrics_.SetReadiness(certain ? Metrics::Readiness::kReady : Metrics::Readiness::kNotReady);
    server_->SetHealth(certain ? RpcServer::Health::kServing : RpcServer::Health::kNotServing);
  }

  // Lets anybody ask for health: it reveals nothing about anybody's work, and probes have no
  // secrets.
  absl::Status AdmitHttp(const HttpRequest& request) const {
    if (request.path == "/healthz" || request.path == "/readyz") return absl::OkStatus();
    return gate_->AdmitReader(request);
  }

  void AnswerHttp(const HttpRequest& request, const HttpReply& reply) {
    const bool api = request.path.rfind("/api/", 0) == 0;
    if (request.method == HttpMethod::kPost && !api) {
      return reply(Share({405, "only GET and HEAD are answered here; acts are under /api/v1\n"}));
    }
    // The API identifies the caller of an act in its own way.
    const absl::Status status =
        request.method == HttpMethod::kPost ? absl::OkStatus() : AdmitHttp(request);
    if (!status.ok()) {
      return reply(
          Share({absl::IsUnauthenticated(status) ? 401 : 403,
                 absl::StrCat(std::string(status.message()),
                              "; over HTTP: 'Authorization: Bearer TOKEN', or in a browser any "
                              "name with the token as the password\n")}));
    }
    if (!api)
      return reply(Share(AnswerPage(request.path, metrics_, [this] { return LoopHealth(); })));
    if (serving_.load()) return api_->Answer(request, reply);
    reply(Share(ErrorAnswer(absl::UnavailableError(
        "the coordinator is reading its journal; try again when /readyz says ok"))));
  }

  NoticeFacts Notices() const {
    const auto scrape = metrics_.Scrape();
    NoticeFacts notices{scrape->notices_waiting, scrape->notices_delivered, scrape->notices_failed,
                        scrape->notices_dropped};
    for (auto& [receiver, why] : sender_->Failing()) notices.failing.emplace_back(receiver, why);
    return notices;
  }

  absl::Status LoopHealth() const {
    if (!serving_.load()) return absl::OkStatus();  // replaying is progress, seen in readyz
    const absl::Duration now = clock_.Now().steady;
    const absl::Duration late = now - loop_->Heartbeat();
    if (late >= limits::kLoopLate) {
      return absl::UnavailableError(
          absl::StrCat("the core loop is late by ", absl::ToInt64Seconds(late), " s"));
    }
    const absl::Duration unheard = now - server_->pulse().Last();
    if (unheard < limits::kStreamsLate) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the threads that serve workers and calls have not answered for ",
                     absl::ToInt64Seconds(unheard), " s"));
  }
  ReportCounts Reports() const {
    if (!serving_.load()) return {};
    return {server_->fleet().reports(), server_->fleet().refused_reports()};
  }

  const Flags flags_;
  SystemClock clock_;
  const absl::Duration started_ = clock_.Now().steady;
  RpcStats stats_;
  Mailbox<Event> mailbox_;
  MetricsModel model_;
  Metrics metrics_;
  std::unique_ptr<Door> door_;  // nullptr without --auth=tokens
  std::unique_ptr<HttpGate> gate_;
  OpenedJournal journal_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<ReaderThread> reader_thread_;
  std::unique_ptr<StoreReader>
      page_reader_;  // separate from the other, so that pages delay no call
  std::unique_ptr<ReaderThread> page_thread_;
  std::unique_ptr<StoreReader> heavy_reader_;  // for reports, which take seconds
  std::unique_ptr<ReaderThread> heavy_thread_;
  std::unique_ptr<Api> api_;  // before server_, since it takes the server's last answers
  std::unique_ptr<CodeKeeper> code_;
  std::unique_ptr<Snapshotter> snapshotter_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<Sender> sender_;  // before loop_, since it takes the loop's notices
  std::unique_ptr<CoreLoop> loop_;
  std::atomic<bool> serving_{false};  // set after server_ and loop_, before HTTP threads read it
  std::atomic<bool> loop_ended_{false};
  absl::Status loop_status_;
  std::unique_ptr<HttpServer> http_;  // last: its threads use the others
};

// Waits until this process leads the coordinators of its database. Fills in the addresses chosen
// meanwhile. Returns nullopt after a signal.
absl::StatusOr<std::optional<OpenedJournal>> AwaitLead(Flags& flags) {
  DT_ASSIGN_OR_RETURN(const std::string conninfo, ReadConnectionFile(flags.database.file));
  Standby standby(
      {conninfo, flags.state_dir, flags.listen, flags.http, flags.tls, flags.addresses_file});
  DT_ASSIGN_OR_RETURN(auto store, standby.AwaitLead());
  if (store == nullptr) return std::optional<OpenedJournal>();
  flags.listen = standby.options().listen;
  flags.http = standby.options().http;
  OpenedJournal opened = OfDatabase(std::move(store), conninfo);
  opened.waiting = standby.TakeServer();
  return std::optional<OpenedJournal>(std::move(opened));
}

int Failed(const absl::Status& status) {
  spdlog::critical("{}", std::string(status.message()));
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

// Returns the exit code.
int Coordinate(Flags flags) {
  OpenedJournal journal;
  if (!flags.database.file.empty()) {
    auto led = AwaitLead(flags);
    if (!led.ok()) return Failed(led.status());
    if (!*led) return 0;
    journal = *std::move(*led);
  }
  Coordinator coordinator(flags, std::move(journal));
  if (absl::Status status = coordinator.Start(); !status.ok()) {
    const int code = Failed(status);
    coordinator.GiveUp();
    return code;
  }
  if (absl::Status served = coordinator.Serve(); !served.ok()) {
    // Uncommitted changes were not sent either; the next start continues from the journal.
    spdlog::critical("stopping at once: {}", std::string(served.message()));
    FinishLogging();
    std::_Exit(1);
  }
  if (absl::Status status = coordinator.Stop(); !status.ok()) {
    spdlog::error("closing the journal: {}", std::string(status.message()));
    return 1;
  }
  spdlog::info("stopped");
  return 0;
}

int Main(int argc, char** argv) {
  // A file at its size limit makes the write fail, as a full disk does.
  signal(SIGXFSZ, SIG_IGN);
  Flags flags;
  CLI::App app(
      "The coordinator: keeps experiments, places their trials on workers, and records "
      "their results.",
      "dtcoord");
  DescribeFlags(app, flags);
  const OfflineCommands offline(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? Printed(0) : 2;
  }
  if (const auto code = offline.Run()) return *code;
  if (absl::Status status = CheckFlags(flags); !status.ok()) {
    std::fprintf(stderr, "dtcoord: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  // Reports are allocated on one thread and freed on another. Few arenas, and returning freed
  // memory, keep the memory of large reports from staying resident.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 2 << 20);
  // The distribution's Abseil checks every lock for deadlocks, which costs a fifth of the
  // throughput of calls.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  QuietProtobuf();
  SetUpLogging();  // starts a thread, which inherits the blocked signals
  const int code = Coordinate(flags);
  FinishLogging();
  return code;
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) { return dt::Main(argc, argv); }
