#include "coordinator/door/door.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/net/token.h"
#include "common/secret_file.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/text.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr size_t kIdDigits = 12;  // 48 bits of the hash: ten thousand tokens do not collide
constexpr char kHowToGetOne[] =
    "; an admin makes one with 'dtctl token create', and --token-file, DTRAIN_TOKEN_FILE or a "
    "context's token_file names the file that holds it";

// Returns the token of "Bearer TOKEN", or the password of "Basic base64(anybody:TOKEN)", which
// browsers send; "" if `authorization` is neither.
std::string TokenOf(const std::string& authorization) {
  const size_t space = std::min(authorization.find(' '), authorization.size());
  const std::string scheme = authorization.substr(0, space);
  std::string rest = authorization.substr(std::min(space + 1, authorization.size()));
  if (absl::EqualsIgnoreCase(scheme, "bearer")) return rest;
  std::string pair;
  if (!absl::EqualsIgnoreCase(scheme, "basic") || !absl::Base64Unescape(rest, &pair)) return "";
  const size_t colon = pair.find(':');
  return colon == std::string::npos ? "" : pair.substr(colon + 1);
}

absl::Status GoneError(const Caller& joiner) {
  return absl::UnauthenticatedError(absl::StrCat("the token ", joiner.token, " to join as '",
                                                 joiner.name, "' has expired or was revoked",
                                                 kHowToGetOne));
}

bool IsSha256Hex(const std::string& text) {
  constexpr size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Returns the summary of the requested token, without its creator and its id.
absl::StatusOr<v1::TokenSummary> AskedFor(const v1::CreateTokenRequest& request, int64_t now) {
  const std::optional<Role> role = FindRole(request.role());
  if (!role.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Printable(request.role()),
                     "' is not a role; choose one of: admin, submitter, observer, worker, joiner"));
  }
  const bool joiner = *role == Role::kJoiner;
  DT_RETURN_IF_ERROR(CheckTokenName(*role, request.name()));
  constexpr int64_t kCentury = int64_t{100} * 366 * 24 * 3600;
  const int64_t longest = joiner ? limits::kJoinSecondsMax : kCentury;
  if (request.expires_seconds() < 0 || request.expires_seconds() > longest) {
    return absl::InvalidArgumentError(absl::StrCat("expires_seconds is ", request.expires_seconds(),
                                                   "; give 0 for ", joiner ? "15 minutes" : "never",
                                                   ", or up to ", longest));
  }
  if (!request.hash().empty() && !IsSha256Hex(request.hash())) {
    return absl::InvalidArgumentError("hash is not a SHA-256, which is 64 hex digits");
  }
  v1::TokenSummary asked;
  asked.set_role(request.role());
  asked.set_name(request.name());
  asked.set_created_wall_ms(now);
  const int64_t seconds =
      joiner && request.expires_seconds() == 0 ? limits::kJoinSeconds : request.expires_seconds();
  if (seconds > 0) asked.set_expires_wall_ms(now + seconds * 1000);
  return asked;
}

std::string CodeWord(const absl::Status& status) { return absl::StatusCodeToString(status.code()); }

}  // namespace

absl::StatusOr<std::unique_ptr<Door>> Door::Open(const std::string& state_dir, const Clock& clock) {
  DT_ASSIGN_OR_RETURN(AccessStore store, AccessStore::Open(state_dir));
  return OpenWith(std::move(store), state_dir, clock);
}

absl::StatusOr<std::unique_ptr<Door>> Door::OpenWith(AccessStore store,
                                                     const std::string& state_dir,
                                                     const Clock& clock) {
  std::unique_ptr<Door> door(new Door(state_dir, std::move(store), clock));
  DT_ASSIGN_OR_RETURN(std::vector<StoredToken> tokens, door->store_.Tokens());
  {
    MutexLock lock(&door->mutex_);
    for (StoredToken& token : tokens) {
      door->hashes_[token.summary.id()] = token.hash;
      door->tokens_[token.hash] = std::move(token);
    }
  }
  if (!door->AnAdminRemains({})) DT_RETURN_IF_ERROR(door->LeaveAdminToken());
  door->thread_ = std::thread([raw = door.get()] { raw->Run(); });
  return door;
}

Door::~Door() {
  works_.Close();
  if (thread_.joinable()) thread_.join();
}

void Door::Run() {
  while (true) {
    auto works = works_.Drain(limits::kAuditWaiting, absl::Minutes(1));
    if (works.empty() && works_.Closed()) return;
    for (Work& work : works) work();
  }
}

absl::Status Door::LeaveAdminToken() {
  v1::CreateTokenRequest request;
  request.set_role(std::string(RoleWord(Role::kAdmin)));
  request.set_name("admin");
  DT_ASSIGN_OR_RETURN(const v1::CreateTokenResponse made, Create(request, "dtcoord"));
  const std::string path = state_dir_ + "/admin.token";
  DT_RETURN_IF_ERROR(WriteSecret(path, made.token() + "\n"));
  spdlog::info("an admin token is in {}: dtctl --token-file {} token list", path, path);
  return absl::OkStatus();
}

// A used joiner's token stays known, so that Join can answer what it was used for.
bool Door::Holds(const StoredToken& token) const {
  const int64_t expires = token.summary.expires_wall_ms();
  if (!token.summary.used_for().empty()) return true;
  return expires == 0 || clock_.Now().wall_ms < expires;
}

bool Door::StillHolds(const Caller& caller) const {
  if (caller.token.empty()) return true;
  MutexLock lock(&mutex_);
  const auto hash = hashes_.find(caller.token);
  return hash != hashes_.end() && Holds(tokens_.at(hash->second));
}

absl::StatusOr<Caller> Door::Identify(const Shown& shown) const {
  if (shown.authorization.empty()) {
    if (auto caller = CallerOfCertificate(shown.alternative_names)) return *std::move(caller);
    return absl::UnauthenticatedError(absl::StrCat(
        shown.alternative_names.empty()
            ? "this coordinator requires a token, and the call has none"
            : "this coordinator requires a token, or a certificate with a name dtrain://ROLE/NAME",
        kHowToGetOne));
  }
  const std::string token = TokenOf(shown.authorization);
  if (!IsToken(token)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the call's credential is not a token, which is dtr_ and 64 hex digits", kHowToGetOne));
  }
  MutexLock lock(&mutex_);
  const auto found = tokens_.find(Sha256Hex(token));
  if (found == tokens_.end()) {
    return absl::UnauthenticatedError(
        absl::StrCat("this coordinator does not know the token, or it was revoked", kHowToGetOne));
  }
  const v1::TokenSummary& of = found->second.summary;
  if (!Holds(found->second)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the token ", of.id(), " of '", of.name(), "' has expired", kHowToGetOne));
  }
  const std::optional<Role> role = FindRole(of.role());
  if (!role.has_value()) {
    return absl::UnauthenticatedError(absl::StrCat("the token ", of.id(), " has the role '",
                                                   of.role(),
                                                   "', which this version does not "
                                                   "know",
                                                   kHowToGetOne));
  }
  return Caller{*role, of.name(), of.id()};
}

absl::StatusOr<Caller> Door::Admit(std::string_view method, const Shown& shown) {
  absl::StatusOr<Caller> caller = Identify(shown);
  const absl::Status status = caller.ok() ? CheckMayCall(*caller, method) : caller.status();
  if (status.ok()) return caller;
  v1::AuditEntry entry;
  if (caller.ok()) {
    entry.set_who(caller->name);
    entry.set_role(std::string(RoleWord(caller->role)));
  }
  entry.set_method(std::string(method));
  entry.set_outcome(CodeWord(status));
  entry.set_message(std::string(status.message()));
  entry.set_peer(shown.peer);
  RecordRefusal(std::move(entry));
  return status;
}

void Door::Record(const Caller& caller, std::string_view method, std::string_view subject,
                  const absl::Status& end, const std::string& peer) {
  const Right* right = FindRight(method);
  if (right == nullptr || right->kept == Kept::kNo) return;
  v1::AuditEntry entry;
  entry.set_who(caller.name);
  entry.set_role(std::string(RoleWord(caller.role)));
  entry.set_method(std::string(method));
  entry.set_subject(CleanText(subject, limits::kTextBytes));
  entry.set_outcome(CodeWord(end));
  entry.set_message(CleanText({end.message().data(), end.message().size()}, limits::kTextBytes));
  entry.set_peer(peer);
  if (absl::IsPermissionDenied(end)) return RecordRefusal(std::move(entry));
  Keep(std::move(entry));
}

// Records the first refusals of each minute. The first entry of the next minute counts the others.
void Door::RecordRefusal(v1::AuditEntry entry) {
  {
    MutexLock lock(&mutex_);
    const absl::Duration now = clock_.Now().steady;
    if (now - minute_began_ >= absl::Minutes(1)) {
      if (left_out_ > 0) {
        entry.set_message(absl::StrCat(entry.message(), " (and ", left_out_,
                                       " earlier refusals, which are not listed)"));
      }
      minute_began_ = now;
      refusals_ = left_out_ = 0;
    }
    if (++refusals_ > limits::kRefusalsAMinute) {
      ++left_out_;
      return;
    }
  }
  Keep(std::move(entry));
}

void Door::Keep(v1::AuditEntry entry) {
  entry.set_wall_ms(clock_.Now().wall_ms);
  const std::string method = entry.method();
  const bool taken = Post([this, entry = std::move(entry)] {
    if (absl::Status status = store_.Append({entry}); !status.ok()) {
      spdlog::error("the audit record lacks a call of {}: {}", entry.method(),
                    std::string(status.message()));
    }
  });
  if (!taken) spdlog::error("the audit record lacks a call of {}: too many wait", method);
}

absl::StatusOr<v1::CreateTokenResponse> Door::Create(const v1::CreateTokenRequest& request,
                                                     const std::string& by) {
  StoredToken token;
  DT_ASSIGN_OR_RETURN(token.summary, AskedFor(request, clock_.Now().wall_ms));
  token.summary.set_created_by(by);
  v1::CreateTokenResponse response;
  token.hash = request.hash();
  if (token.hash.empty()) {
    response.set_token(FreshToken());
    token.hash = Sha256Hex(response.token());
  }
  token.summary.set_id(token.hash.substr(0, kIdDigits));
  DT_RETURN_IF_ERROR(ForgetJoiners());
  DT_ASSIGN_OR_RETURN(std::optional<v1::TokenSummary> made, FindMade(token));
  if (made) {
    *response.mutable_summary() = *std::move(made);
    return response;
  }
  DT_RETURN_IF_ERROR(CheckOneMore());
  DT_RETURN_IF_ERROR(store_.Put(token));
  *response.mutable_summary() = token.summary;
  MutexLock lock(&mutex_);
  hashes_[token.summary.id()] = token.hash;
  tokens_[token.hash] = std::move(token);
  return response;
}

absl::StatusOr<std::optional<v1::TokenSummary>> Door::FindMade(const StoredToken& token) const {
  MutexLock lock(&mutex_);
  const auto found = hashes_.find(token.summary.id());
  if (found == hashes_.end()) return std::nullopt;
  const v1::TokenSummary& had = tokens_.at(found->second).summary;
  const auto what = [](const v1::TokenSummary& of) {
    return std::tie(of.role(), of.name(), of.created_by());
  };
  if (found->second == token.hash && what(had) == what(token.summary)) return had;
  return absl::AlreadyExistsError("a token with this hash is there; make another one");
}

absl::Status Door::CheckOneMore() const {
  MutexLock lock(&mutex_);
  if (tokens_.size() < limits::kTokens) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("there are ", tokens_.size(),
                   " tokens, which is the limit; revoke some with 'dtctl token revoke'"));
}

// Drops joiners' tokens that expired unused, and those whose worker's token is gone: nobody uses
// them again.
absl::Status Door::ForgetJoiners() {
  std::vector<std::string> ids;
  {
    MutexLock lock(&mutex_);
    for (const auto& [hash, token] : tokens_) {
      const v1::TokenSummary& of = token.summary;
      if (of.role() != RoleWord(Role::kJoiner)) continue;
      if (clock_.Now().wall_ms >= of.expires_wall_ms() && !hashes_.contains(of.used_for())) {
        ids.push_back(of.id());
      }
    }
  }
  for (const std::string& id : ids) DT_RETURN_IF_ERROR(Forget(id));
  return absl::OkStatus();
}

absl::StatusOr<v1::JoinResponse> Door::Join(const v1::JoinRequest& request, const Caller& joiner) {
  if (!IsSha256Hex(request.hash())) {
    return absl::InvalidArgumentError(
        "hash is not a SHA-256, which is 64 hex digits; dtworker --join-token-file makes it");
  }
  StoredToken token;
  token.hash = request.hash();
  v1::TokenSummary& made = token.summary;
  made.set_id(token.hash.substr(0, kIdDigits));
  v1::JoinResponse response;
  {
    MutexLock lock(&mutex_);
    const auto found = hashes_.find(joiner.token);
    if (found == hashes_.end()) return GoneError(joiner);
    const StoredToken& by = tokens_.at(found->second);
    const auto same = tokens_.find(token.hash);
    if (!by.summary.used_for().empty()) {
      // The answer was lost, or the worker died before it received it.
      if (same != tokens_.end() && same->second.summary.id() == by.summary.used_for()) {
        *response.mutable_summary() = same->second.summary;
        return response;
      }
      return absl::PermissionDeniedError(absl::StrCat(
          "the token ", joiner.token, " to join as '", joiner.name,
          "' was already used, and is valid once; if you did not use it, revoke the token that it "
          "became, ",
          by.summary.used_for(), ", with 'dtctl token revoke'; an admin makes another with 'dtctl ",
          "token create --role joiner --name ", joiner.name, "'"));
    }
    if (!Holds(by)) return GoneError(joiner);
    if (same != tokens_.end() || hashes_.contains(made.id())) {
      return absl::AlreadyExistsError("a token with this hash is there; make another one");
    }
  }
  DT_RETURN_IF_ERROR(CheckOneMore());
  made.set_role(std::string(RoleWord(Role::kWorker)));
  made.set_name(joiner.name);
  made.set_created_by(absl::StrCat("token ", joiner.token));
  made.set_created_wall_ms(clock_.Now().wall_ms);
  DT_RETURN_IF_ERROR(store_.PutJoined(token, joiner.token));
  *response.mutable_summary() = made;
  MutexLock lock(&mutex_);
  tokens_.at(hashes_.at(joiner.token)).summary.set_used_for(made.id());
  hashes_[made.id()] = token.hash;
  tokens_[token.hash] = std::move(token);
  return response;
}

v1::ListTokensResponse Door::List() const {
  std::vector<v1::TokenSummary> all;
  {
    MutexLock lock(&mutex_);
    for (const auto& [hash, token] : tokens_) all.push_back(token.summary);
  }
  std::sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
    return std::pair(one.created_wall_ms(), one.id()) <
           std::pair(other.created_wall_ms(), other.id());
  });
  v1::ListTokensResponse response;
  for (v1::TokenSummary& one : all) *response.add_tokens() = std::move(one);
  return response;
}

bool Door::AnAdminRemains(const std::vector<std::string>& without) const {
  MutexLock lock(&mutex_);
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const auto& one) {
    const v1::TokenSummary& of = one.second.summary;
    return of.role() == RoleWord(Role::kAdmin) && Holds(one.second) &&
           std::find(without.begin(), without.end(), of.id()) == without.end();
  });
}

absl::Status Door::Forget(const std::string& id) {
  DT_RETURN_IF_ERROR(store_.Remove(id));
  MutexLock lock(&mutex_);
  tokens_.erase(hashes_[id]);
  hashes_.erase(id);
  return absl::OkStatus();
}

absl::StatusOr<v1::RevokeTokenResponse> Door::Revoke(const v1::RevokeTokenRequest& request) {
  v1::RevokeTokenResponse response;
  std::vector<std::string> ids;
  const v1::ListTokensResponse all = List();
  for (const v1::TokenSummary& one : all.tokens()) {
    if (one.id() != request.token() && one.name() != request.token()) continue;
    *response.add_revoked() = one;
    ids.push_back(one.id());
  }
  if (ids.empty()) {
    return absl::NotFoundError(absl::StrCat("no token has the id or the name '",
                                            Printable(request.token()),
                                            "'; 'dtctl token list' shows them"));
  }
  if (!AnAdminRemains(ids)) {
    return absl::FailedPreconditionError(
        "no token of an admin would be left; make another one first, with 'dtctl token create "
        "--role admin --name NAME'");
  }
  for (const std::string& id : ids) DT_RETURN_IF_ERROR(Forget(id));
  return response;
}

absl::StatusOr<v1::ListAuditResponse> Door::Audit(const v1::ListAuditRequest& request) {
  constexpr uint32_t kUsual = 100;
  const uint32_t newest = request.newest() == 0 ? kUsual : request.newest();
  if (newest > limits::kAuditPage) {
    return absl::InvalidArgumentError(
        absl::StrCat("newest is ", newest, "; it is at most ", limits::kAuditPage));
  }
  DT_ASSIGN_OR_RETURN(std::vector<v1::AuditEntry> entries, store_.Audit(newest));
  v1::ListAuditResponse response;
  for (v1::AuditEntry& one : entries) *response.add_entries() = std::move(one);
  return response;
}

}  // namespace dt
