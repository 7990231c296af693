// code_fetcher.cc: from the cache or the coordinator into a folder of the attempt.
#include "worker/shell/code_fetcher.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/net/grpc_settings.h"
#include "common/net/token.h"
#include "common/pack/folder.h"
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "common/status.h"
#include "grpcpp/create_channel.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

bool MayHelpToTryAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsDeadlineExceeded(status);
}

}  // namespace

CodeFetcher::CodeFetcher(CodeSource source)
    : source_(std::move(source)),
      requests_(2 * kWaiting, kWaiting),
      found_(2 * kWaiting, 0),
      thread_([this] { Run(); }) {}

CodeFetcher::~CodeFetcher() {
  requests_.Close();
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    if (call_ != nullptr) call_->TryCancel();
    changed_.NotifyAll();
  }
  thread_.join();
}

bool CodeFetcher::Fetch(FetchCode fetch) {
  return requests_.Post(std::move(fetch), PostClass::kBulk);
}

// A drop may overtake an earlier fetch: the agent then drops the result of that fetch.
void CodeFetcher::Drop(const DropCode& drop) {
  {
    MutexLock lock(&mutex_);
    if (current_ == drop.token) {
      unwanted_ = true;
      if (call_ != nullptr) call_->TryCancel();
      changed_.NotifyAll();
    }
  }
  if (!requests_.Post(DropCode(drop), PostClass::kControl)) {
    spdlog::warn("{} stays until this worker starts again", FolderOf(drop.token));
  }
}

std::vector<CodeFetcher::Found> CodeFetcher::Take() {
  wake_.Clear();
  return found_.Drain(2 * kWaiting, absl::ZeroDuration());
}

void CodeFetcher::Run() {
  Clean();
  while (true) {
    auto requests = requests_.Drain(1, absl::Minutes(1));
    if (requests.empty() && requests_.Closed()) break;
    for (Request& request : requests) {
      if (const auto* drop = std::get_if<DropCode>(&request)) {
        RemoveAll(FolderOf(drop->token)).IgnoreError();
        continue;
      }
      const FetchCode& fetch = std::get<FetchCode>(request);
      {
        MutexLock lock(&mutex_);
        current_ = fetch.token;
        unwanted_ = false;
      }
      Found found = FolderFor(fetch);
      {
        MutexLock lock(&mutex_);
        current_.reset();
      }
      // There are as many places as requests, and the main thread takes all at once.
      if (!found_.Post(std::move(found), PostClass::kControl)) continue;
      wake_.Signal();
    }
  }
}

// Removes the remains of an earlier life of this worker. If another process was started under its
// name by mistake, the living worker has the lock.
void CodeFetcher::Clean() {
  const auto clean = [this]() -> absl::Status {
    DT_RETURN_IF_ERROR(MakeFolders(source_.folder));
    DT_ASSIGN_OR_RETURN(lock_, LockFile(absl::StrCat(source_.folder, "/", source_.slot, ".lock")));
    return RemoveAll(source_.folder + "/" + source_.slot);
  };
  if (const absl::Status cleaned = clean(); !cleaned.ok()) {
    spdlog::warn("{}", std::string(cleaned.message()));
  }
}

std::string CodeFetcher::FolderOf(const AttemptToken& token) const {
  return absl::StrCat(source_.folder, "/", source_.slot, "/", token.ToHex());
}

CodeFetcher::Found CodeFetcher::FolderFor(const FetchCode& fetch) {
  const auto failed = [&fetch](CodeFault fault, const absl::Status& why) {
    return CodeFailed{fetch.token, std::string(why.message()), fault};
  };
  if (!pack::IsDigest(fetch.code.digest())) {
    return failed(CodeFault::kNotGot, absl::InvalidArgumentError(
                                          "what the coordinator calls the code is not a sha256"));
  }
  if (const absl::Status made = MakeFolders(source_.folder + "/" + source_.slot); !made.ok()) {
    return failed(CodeFault::kHost, made);
  }
  const absl::StatusOr<std::string> packed = PackedOf(fetch.code);
  if (!packed.ok()) return failed(CodeFault::kNotGot, packed.status());
  std::string folder = FolderOf(fetch.token);
  absl::Status unpacked = RemoveAll(folder);
  if (unpacked.ok()) unpacked = pack::UnpackInto(*packed, folder);
  if (unpacked.ok()) return CodeReady{fetch.token, std::move(folder)};
  // Bytes that are not packed code are not this host's fault.
  const CodeFault fault = absl::IsInvalidArgument(unpacked) ? CodeFault::kNotGot : CodeFault::kHost;
  return failed(fault, Annotate(unpacked, absl::StrCat("unpacking its code into ", folder,
                                                       ", below this worker's --run-dir")));
}

// Returns the code from the cache if it is undamaged there, else from the coordinator.
absl::StatusOr<std::string> CodeFetcher::PackedOf(const v1::Code& code) {
  const std::string path = source_.folder + "/" + code.digest();
  auto kept = ReadFile(path, limits::kCodeBytes);
  if (kept.ok() && Sha256Hex(*kept) == code.digest()) {
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return kept;
  }
  auto packed = Download(code);
  if (packed.ok()) Keep(code.digest(), *packed);
  return packed;
}

absl::StatusOr<std::string> CodeFetcher::Download(const v1::Code& code) {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + kPatience;
  absl::Duration pause = limits::kReconnectFirst;
  std::unique_ptr<v1::Fleet::Stub> stub;
  std::string packed;
  for (uint32_t part = 0, parts = 1; part < parts;) {
    // Made again for each download and each address: the certificate may have changed.
    if (stub == nullptr) {
      stub = v1::Fleet::NewStub(grpc::CreateCustomChannel(
          source_.coordinators[at_], source_.credentials.Next(), ClientChannelArguments()));
    }
    const auto got = GetPart(*stub, code.digest(), part);
    if (got.ok()) {
      packed += got->data();
      parts = got->parts();
      ++part;
      if (packed.size() > limits::kCodeBytes || got->data().empty()) {
        return absl::DataLossError("the coordinator sent code beyond its limit, or an empty part");
      }
      continue;
    }
    const bool late = clock.Now().steady + pause >= until;
    if (late || !MayHelpToTryAgain(got.status()) || !GoesOnAfter(pause)) return got.status();
    pause = std::min(2 * pause, limits::kReconnectMax);
    // Another one may lead now.
    if (absl::IsUnavailable(got.status()) && source_.coordinators.size() > 1) {
      at_ = (at_ + 1) % source_.coordinators.size();
      stub.reset();
    }
  }
  const std::string digest = Sha256Hex(packed);
  if (digest == code.digest()) return packed;
  return absl::DataLossError(absl::StrCat("what the coordinator sent has the digest ", digest,
                                          ", not ", code.digest(),
                                          "; `dtcoord check` says whether its copy is damaged"));
}

absl::StatusOr<v1::GetCodeResponse> CodeFetcher::GetPart(v1::Fleet::Stub& stub,
                                                         const std::string& digest, uint32_t part) {
  v1::GetCodeRequest request;
  request.set_digest(digest);
  request.set_part(part);
  request.set_worker(source_.worker);
  v1::GetCodeResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + limits::kCallDeadline));
  if (!source_.token_file.empty()) {
    DT_ASSIGN_OR_RETURN(const std::string token, ReadTokenFile("--token-file", source_.token_file));
    AddToken(token, context);
  }
  {
    MutexLock lock(&mutex_);
    if (stopping_ || unwanted_) return absl::CancelledError("its attempt is over");
    call_ = &context;
  }
  const grpc::Status status = stub.GetCode(&context, request, &response);
  {
    MutexLock lock(&mutex_);
    call_ = nullptr;
  }
  if (!status.ok()) return FromGrpcStatus(status);
  return response;
}

bool CodeFetcher::GoesOnAfter(absl::Duration pause) {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + pause;
  MutexLock lock(&mutex_);
  while (!stopping_ && !unwanted_) {
    const absl::Duration left = until - clock.Now().steady;
    if (left <= absl::ZeroDuration()) return true;
    changed_.WaitFor(&mutex_, left);
  }
  return false;
}

// Without a cache the next attempt downloads it again, so a failure here is no error.
void CodeFetcher::Keep(const std::string& digest, const std::string& packed) {
  const std::string draft = absl::StrCat(source_.folder, "/", source_.slot, "/", digest);
  const auto keep = [&]() -> absl::Status {
    DT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(draft));
    DT_RETURN_IF_ERROR(file.Append(packed.data(), packed.size()));
    DT_RETURN_IF_ERROR(file.SyncAndClose());
    return Rename(draft, source_.folder + "/" + digest);
  };
  if (const absl::Status kept = keep(); !kept.ok()) {
    RemoveAll(draft).IgnoreError();
    spdlog::warn("code is not kept for other attempts: {}", std::string(kept.message()));
  }
  RemoveOldest(digest);
}

void CodeFetcher::RemoveOldest(const std::string& but) {
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  std::error_code code;
  uint64_t bytes = 0;
  for (const std::string& name : ListFolder(source_.folder).value_or(std::vector<std::string>{})) {
    if (!pack::IsDigest(name)) continue;
    const fs::path path = fs::path(source_.folder) / name;
    const uint64_t size = fs::file_size(path, code);
    if (code) continue;  // another worker was faster
    bytes += size;
    kept.emplace_back(fs::last_write_time(path, code), path);
  }
  std::sort(kept.begin(), kept.end());
  for (const auto& [time, path] : kept) {
    if (bytes <= kKeptBytes) return;
    if (path.filename() == but) continue;
    bytes -= std::min<uint64_t>(bytes, fs::file_size(path, code));
    fs::remove(path, code);
  }
}

}  // namespace dt
