// fake_trainer.cc: a trainer that computes nothing: it speaks frames over descriptor 3, keeps the
// requested pace, writes small checkpoints and misbehaves on demand. For tests of the programs
// around a trainer.
//
// Number of steps: train.max_steps. data.train holds all other requests, as words with blanks
// between:
//   step_ms=1            time of a step
//   checkpoint_every=N   steps between checkpoints; 0: only the last, and those that are asked for
//   keep=N               checkpoints of this attempt that stay; 0: all
//   eval_every=N         steps between evaluations; the rungs of a search are evaluated too
//   by_rate=1            the loss depends on optimizer.lr; 0.001 is the best
//   measures=1           rows and evaluations also hold a real trainer's measurements, the same
//                        each time
//   wait_at=N            in the first attempt, no rank goes beyond this step: what a test does then
//                        comes between two steps on any machine
//   rank=R               only this rank does the misconduct below (default 0)
//   attempts=N           … and only in the first N attempts (default 1)
//   crash_at=N           abort() at this step
//   hang_at=N            at this step stop sending and reading
//   end_at=N end_cause=oom   end with this cause at this step
//   ignore_stop=1        go on after an order to stop
//   nonsense_at=N        send bytes that are no frame
//   spew=N               lines on standard output at the start
//   say_every=N          "at step S" on standard output every N steps
//   fingerprint=text     of the data this rank sees
// In the worker's own environment: FAKE_DIE_EARLY=1 exits with status 3 before it sends hello,
// FAKE_CRASH=1 aborts at the first step of every attempt.
//
// Ranks of a gang hold a TCP connection to rank 0; if one breaks, the attempt ends as
// `collective`.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "worker/frames/frames.h"

namespace dt {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kAgentFd = 3;

// Protobuf's JSON writes 64-bit integers as text.
int64_t Integer(const nlohmann::json& value) {
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<int64_t>();
}

class Script {
 public:
  explicit Script(const frames::Start& start) : start_(start) {}

  std::string Text(const std::string& name, const std::string& otherwise) const {
    std::istringstream words(start_.spec.at("data").value("train", ""));
    for (std::string word; words >> word;) {
      if (word.rfind(name + "=", 0) == 0) return word.substr(name.size() + 1);
    }
    return otherwise;
  }
  uint64_t Number(const std::string& name, uint64_t otherwise = 0) const {
    return std::stoull(Text(name, std::to_string(otherwise)));
  }
  // Returns whether this rank and attempt misbehaves in the way `name` at `step`.
  bool MisbehavesAt(const std::string& name, uint64_t step) const {
    return Number(name) != 0 && Number(name) == step && Misbehaves();
  }
  bool Misbehaves() const {
    return Number("rank", 0) == static_cast<uint64_t>(start_.rank) &&
           start_.attempt <= Number("attempts", 1);
  }

 private:
  const frames::Start& start_;
};

class FakeTrainer {
 public:
  int Run() {
    frames::Hello hello;
    hello.program_version = "fake";
    hello.device_name = "fake";
    hello.threads = 1;
    Say(hello);
    Say(frames::Idle{});
    for (;;) {
      const frames::ToTrainer frame = NextFrame();
      if (std::holds_alternative<frames::Exit>(frame)) return 0;
      const auto* start = std::get_if<frames::Start>(&frame);
      if (start == nullptr) continue;
      Train(*start);
      Say(frames::Idle{});
    }
  }

 private:
  enum class News { kNone, kStop, kSave, kPeerGone };

  void Say(const frames::FromTrainer& frame) { SayLine(frames::ToLine(frame)); }
  void SayLine(std::string line) {
    line += '\n';
    for (size_t put = 0; put < line.size();) {
      const ssize_t n = send(kAgentFd, line.data() + put, line.size() - put, MSG_NOSIGNAL);
      if (n <= 0) _exit(1);  // the agent has closed its end
      put += static_cast<size_t>(n);
    }
  }
  // Waits until `until` for bytes on descriptor 3 or from a peer; returns false if none came.
  bool Listen(SteadyClock::time_point until) {
    std::vector<pollfd> fds = {{kAgentFd, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const int peer : peers_) fds.push_back({peer, POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
    if (left.count() <= 0) return false;
    if (poll(fds.data(), fds.size(), static_cast<int>(left.count())) <= 0) return false;
    if (fds[0].revents != 0) ReadAgent();
    if (fds[1].revents != 0) peers_.push_back(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    for (size_t i = 2; i < fds.size(); ++i) {
      char done = 0;
      if (fds[i].revents == 0) continue;
      if (recv(fds[i].fd, &done, 1, 0) == 1) {
        ++peers_done_;
      } else {
        peer_gone_ = true;
      }
    }
    return true;
  }
  void ReadAgent() {
    char chunk[65536];
    const ssize_t got = recv(kAgentFd, chunk, sizeof(chunk), 0);
    if (got <= 0) _exit(1);
    unread_.append(chunk, static_cast<size_t>(got));
    for (size_t end; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1)) {
      auto parsed = frames::ParseToTrainer(unread_.substr(0, end));
      if (auto* frame = std::get_if<frames::ToTrainer>(&parsed)) frames_.push_back(*frame);
    }
  }
  frames::ToTrainer NextFrame() {
    while (frames_.empty()) Listen(SteadyClock::now() + std::chrono::hours(1));
    frames::ToTrainer frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }
  // Reads the frames that came for the running attempt; a frame `exit` ends the process.
  News Pending(const frames::Start& start) {
    while (!frames_.empty()) {
      const frames::ToTrainer frame = NextFrame();
      if (std::holds_alternative<frames::Exit>(frame)) _exit(0);
      if (const auto* connect = std::get_if<frames::Connect>(&frame)) {
        if (connect->token == start.token) store_address_ = connect->store_address;
      }
      const auto* stop = std::get_if<frames::Stop>(&frame);
      if (stop != nullptr && stop->token == start.token) {
        return stop->checkpoint ? News::kSave : News::kStop;
      }
    }
    return peer_gone_ ? News::kPeerGone : News::kNone;
  }
  News WaitUntil(const frames::Start& start, SteadyClock::time_point until) {
    for (;;) {
      const News news = Pending(start);
      if (news != News::kNone || !Listen(until)) return news;
    }
  }

  void Train(const frames::Start& start) {
    const Script script(start);
    peer_gone_ = leaving_ = false;
    peers_done_ = 0;
    store_address_ = start.store_address;
    const uint64_t target = static_cast<uint64_t>(Integer(start.spec.at("train").at("max_steps")));
    for (uint64_t i = 0; i < script.Number("spew"); ++i) std::printf("line %zu\n", size_t{i});
    // The files beside the code belong to the attempt: it may write there.
    if (!start.code_folder.empty()) {
      std::printf("code in %s\n", start.code_folder.c_str());
      for (const auto& entry : std::filesystem::recursive_directory_iterator(start.code_folder)) {
        if (!entry.is_regular_file() || entry.file_size() > 1000) continue;
        std::ifstream file(entry.path());
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const auto path = entry.path().lexically_relative(start.code_folder);
        std::printf("file %s: %s\n", path.c_str(), text.c_str());
      }
      std::ofstream(start.code_folder + "/left-behind") << start.attempt;
    }
    std::fflush(stdout);
    frames::Prepared prepared;
    prepared.token = start.token;
    prepared.target_steps = target;
    prepared.train_files = 1;
    prepared.data_fingerprint = script.Misbehaves() ? script.Text("fingerprint", "same") : "same";
    prepared.tokens_per_step = 64;
    Say(prepared);
    uint64_t step = start.resume ? start.resume->step : 0;
    if (start.resume && start.rank == 0 &&
        !std::filesystem::exists(start.storage + "/" + start.resume->path + "/manifest.json")) {
      return End(start, "data", "no checkpoint at " + start.resume->path, step);
    }
    const News met = Rendezvous(start);
    if (met != News::kNone) return EndOn(met, start, step);
    Say(frames::Running{start.token, step});
    while (step < target) {
      const bool waits = start.attempt == 1 && step != 0 && script.Number("wait_at") == step;
      const std::chrono::milliseconds step_time =
          waits ? std::chrono::hours(1) : std::chrono::milliseconds(script.Number("step_ms", 1));
      News news = WaitUntil(start, SteadyClock::now() + step_time);
      if ((news == News::kStop || news == News::kSave) && script.Number("ignore_stop") != 0) {
        news = News::kNone;
      }
      if (news == News::kSave && start.rank != 0) {
        leaving_ = true;  // it leaves with rank 0, once rank 0 has saved
        news = News::kNone;
      }
      if (news != News::kNone) return EndOn(news, start, step);
      Step(start, script, ++step);
      if (script.MisbehavesAt("end_at", step)) {
        return End(start, script.Text("end_cause", "oom"), "as asked for", step);
      }
    }
    const News last = Meet(start);
    if (last != News::kNone) return EndOn(last, start, step);
    if (start.rank == 0) Save(start, step);
    End(start, "finished", "", step);
  }

  void Step(const frames::Start& start, const Script& script, uint64_t step) {
    if (script.MisbehavesAt("crash_at", step) || getenv("FAKE_CRASH") != nullptr) {
      std::fprintf(stderr, "crash asked for at step %zu\n", size_t{step});
      abort();
    }
    if (script.MisbehavesAt("hang_at", step)) {
      for (;;) pause();
    }
    if (script.MisbehavesAt("nonsense_at", step)) SayLine("nonsense");
    const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const double loss = LossOf(start, script, step);
    if (start.rank != 0) {
      Say(frames::Progress{start.token, step});
      return;
    }
    nlohmann::json row = {{"step", step},          {"loss", loss},
                          {"learning_rate", 1e-3}, {"grad_norm", 1.0},
                          {"tokens", 64.0},        {"seconds", 0.001},
                          {"steps", 1.0},          {"wall_time_ms", wall.count()}};
    const bool measures = script.Number("measures") != 0;
    if (measures) row.update(Measured());
    Say(frames::StepDone{start.token, std::move(row)});
    const uint64_t eval_every = script.Number("eval_every");
    if ((eval_every != 0 && step % eval_every == 0) || IsRung(start, step)) {
      frames::Eval eval = {
          .token = start.token, .step = step, .loss = loss + 0.1, .tokens = 64, .seconds = 0.001};
      if (measures) {
        eval.perplexity_mean = 42.5;
        eval.hellaswag_acc = 0.25;
        eval.metrics = {{"hops", 7}};
      }
      Say(eval);
    }
    const uint64_t say_every = script.Number("say_every");
    if (say_every != 0 && step % say_every == 0) {
      std::printf("at step %zu\n", size_t{step});
      std::fflush(stdout);
    }
    const uint64_t save_every = script.Number("checkpoint_every");
    if (save_every != 0 && step % save_every == 0) {
      Save(start, step);
      const uint64_t keep = script.Number("keep");
      if (keep != 0 && step > keep * save_every) Remove(start, step - keep * save_every);
    }
  }

  // 40 % of the peak, a quarter of the step not hidden, and the bytes that two axes of ranks send.
  static nlohmann::json Measured() {
    const auto sent = [](const char* op, const char* axis, int ranks, double exposed_seconds) {
      return nlohmann::json{{"op", op},       {"axis", axis},
                            {"ranks", ranks}, {"seconds", 0.5e-3},
                            {"bytes", 1e6},   {"exposed_seconds", exposed_seconds},
                            {"count", 1.0}};
    };
    return {{"forward_seconds", 0.5e-3},
            {"backward_seconds", 0.2e-3},
            {"optimizer_seconds", 0.05e-3},
            {"comm_exposed_seconds", 0.25e-3},
            {"flops", 4e8},
            {"peak_flops", 1e12},
            {"memory_peak_bytes", 3 * 1073741824.0},
            {"collectives", nlohmann::json::array({sent("all_reduce", "data", 4, 0.0),
                                                   sent("recv", "pipeline", 2, 0.2e-3)})}};
  }
  static double LossOf(const frames::Start& start, const Script& script, uint64_t step) {
    double loss = 4.0 * std::exp(-0.01 * static_cast<double>(step)) + 1.0;
    if (script.Number("by_rate") != 0) {
      loss += std::abs(std::log10(start.spec.at("optimizer").value("lr", 1e-3)) + 3);
    }
    return loss;
  }
  static bool IsRung(const frames::Start& start, uint64_t step) {
    const auto target = static_cast<uint64_t>(Integer(start.spec.at("train").at("max_steps")));
    return std::any_of(start.validate_at.begin(), start.validate_at.end(),
                       [&](uint64_t divisor) { return (target + divisor - 1) / divisor == step; });
  }

  static std::string PathOf(const frames::Start& start, uint64_t step) {
    return std::to_string(start.experiment) + "/" + std::to_string(start.trial) + "/a" +
           std::to_string(start.attempt) + "/step-" + std::to_string(step);
  }

  void Remove(const frames::Start& start, uint64_t step) {
    const std::string path = PathOf(start, step);
    if (std::filesystem::remove_all(std::filesystem::path(start.storage) / path) == 0) return;
    Say(frames::CheckpointRemoved{start.token, step, path});
  }

  void Save(const frames::Start& start, uint64_t step) {
    frames::CheckpointDone done;
    done.token = start.token;
    done.step = step;
    done.path = PathOf(start, step);
    if (done.path == std::exchange(saved_, done.path))
      return;  // reported once, as the real
               // trainer does
    done.manifest_hash = std::string(64, 'a');
    const std::filesystem::path folder = std::filesystem::path(start.storage) / done.path;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "manifest.json") << "{\"step\": " << step << "}\n";
    done.bytes = std::filesystem::file_size(folder / "manifest.json");
    Say(done);
  }

  // Connects all ranks to rank 0. Returns other news if it came first.
  News Rendezvous(const frames::Start& start) {
    if (start.world_size == 1) return News::kNone;
    const auto limit = SteadyClock::now() + std::chrono::seconds(60);
    return start.rank == 0 ? Gather(start, limit) : Join(start, limit);
  }
  News Gather(const frames::Start& start, SteadyClock::time_point limit) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener, 128) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      _exit(4);
    }
    Say(frames::StoreUp{start.token, "127.0.0.1:" + std::to_string(ntohs(address.sin_port))});
    listener_ = listener;
    News news = News::kNone;
    while (news == News::kNone && peers_.size() + 1 < static_cast<size_t>(start.world_size)) {
      news = Pending(start);
      if (news == News::kNone && !Listen(limit)) news = News::kPeerGone;
    }
    close(std::exchange(listener_, -1));
    return news;
  }
  News Join(const frames::Start& start, SteadyClock::time_point limit) {
    while (store_address_.empty()) {
      const News news = Pending(start);
      if (news != News::kNone) return news;
      if (store_address_.empty() && !Listen(limit)) return News::kPeerGone;
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const size_t colon = store_address_.find(':');
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(store_address_.substr(colon + 1))));
    const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(peer, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return News::kPeerGone;
    }
    peers_ = {peer};
    return News::kNone;
  }

  // Waits on every rank for the last one, so that no rank takes another's normal end for its death.
  News Meet(const frames::Start& start) {
    const auto limit = SteadyClock::now() + std::chrono::seconds(60);
    const auto tell = [this] {
      for (const int peer : peers_) send(peer, "d", 1, MSG_NOSIGNAL);
    };
    if (start.rank != 0) tell();
    const size_t awaited = start.rank == 0 ? peers_.size() : 1;
    while (start.world_size > 1 && peers_done_ < awaited) {
      const News news = Pending(start);
      if (news != News::kNone) return news;
      if (!Listen(limit)) return News::kPeerGone;
    }
    if (start.rank == 0) tell();
    return News::kNone;
  }

  void EndOn(News news, const frames::Start& start, uint64_t step) {
    if (news == News::kSave && start.rank == 0) Save(start, step);
    if (news == News::kPeerGone && !leaving_)
      return End(start, "collective", "a peer is gone", step);
    End(start, "cancelled", "told to stop", step);
  }
  void End(const frames::Start& start, const std::string& cause, const std::string& message,
           uint64_t step) {
    Say(frames::End{start.token, cause, message, step});
    for (const int peer : peers_) close(peer);
    peers_.clear();
  }

  std::string unread_;
  std::deque<frames::ToTrainer> frames_;
  std::vector<int> peers_;
  std::string store_address_;
  int listener_ = -1;
  bool peer_gone_ = false;
  bool leaving_ = false;  // asked to leave, and waits for rank 0 to save
  std::string saved_;     // the path of the newest checkpoint
  size_t peers_done_ = 0;
};

int Main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getenv("FAKE_DIE_EARLY") != nullptr) {
    std::fprintf(stderr, "dying early, as asked for\n");
    return 3;
  }
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--lock") != 0) continue;
    const int lock = open(argv[i + 1], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) return 5;
  }
  return FakeTrainer().Run();
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) { return dt::Main(argc, argv); }
