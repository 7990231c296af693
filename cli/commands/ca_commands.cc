// ca_commands.cc: dtctl ca init | issue: a certificate authority and its certificates, as files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/command_tree.h"
#include "cli/view/words.h"
#include "common/files.h"
#include "common/net/authority.h"
#include "common/status.h"
#include "common/text.h"
#include "common/unique_fd.h"

namespace dt::cli {
namespace {

constexpr char kFolder[] = "dtrain-tls";
constexpr char kAuthority[] = "ca";
constexpr char kCoordinator[] = "coordinator";
constexpr uint64_t kPemBytes = 64 << 10;

struct InitOptions {
  std::string folder = kFolder;
  std::string name = "dtrain-authority";
  int days = kAuthorityDays;
};

struct IssueOptions {
  std::string folder = kFolder;
  std::string role;
  CertificateSubject subject;
  int days = kCertificateDays;
};

// Writes a new file that only its user may read. It is on disk when this returns. Errors:
// AlreadyExists.
absl::Status WriteNew(const std::string& path, const std::string& text) {
  const UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (file.get() < 0) {
    if (errno != EEXIST) return SystemError("make", path);
    return absl::AlreadyExistsError(
        absl::StrCat(Printable(path), " is there and is not replaced, since programs may use it; ",
                     "name another --dir, or move it away"));
  }
  const auto undo = [&path](const char* what) {
    absl::Status error = SystemError(what, path);
    unlink(path.c_str());
    return error;
  };
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t some = write(file.get(), text.data() + written, text.size() - written);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return undo("write");
    written += static_cast<size_t>(some);
  }
  return fsync(file.get()) == 0 ? absl::OkStatus() : undo("sync");
}

// Writes FOLDER/NAME.key and FOLDER/NAME.crt, both or neither.
absl::Status WritePair(const std::string& folder, const std::string& name,
                       const CertificatePair& pair) {
  const std::string key = absl::StrCat(folder, "/", name, ".key");
  const std::string cert = absl::StrCat(folder, "/", name, ".crt");
  DT_RETURN_IF_ERROR(WriteNew(key, pair.key));
  absl::Status status = WriteNew(cert, pair.cert);
  if (!status.ok()) {
    unlink(key.c_str());
    return status;
  }
  return SyncFolder(folder);
}

int64_t Milliseconds(std::time_t time) { return static_cast<int64_t>(time) * 1000; }

absl::StatusOr<ExitCode> Init(Session& session, const InitOptions& options) {
  DT_ASSIGN_OR_RETURN(const CertificatePair pair, MakeAuthority(options.name, options.days));
  if (mkdir(options.folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return SystemError("make", options.folder);
  }
  DT_RETURN_IF_ERROR(WritePair(options.folder, kAuthority, pair));
  const std::string path = absl::StrCat(options.folder, "/", kAuthority);
  PrintDocument(session, "Authority",
                {{"name", options.name},
                 {"cert", absl::StrCat(path, ".crt")},
                 {"key", absl::StrCat(path, ".key")},
                 {"expires_time", TimeJson(Milliseconds(pair.expires))}},
                absl::StrCat(Printable(path), ".crt\n", Printable(path), ".key\n"));
  session.Note(absl::StrCat("The authority ends: ", FormatLocalTime(Milliseconds(pair.expires)),
                            ". Give ca.crt to every program, and ca.key to nobody: who has it can "
                            "make themselves an admin."));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Issue(Session& session, const IssueOptions& options) {
  CertificateSubject subject = options.subject;
  DT_RETURN_IF_ERROR(CheckCertificateName(subject.name));
  if (options.role != kCoordinator) subject.role = options.role;
  const std::string authority_path = absl::StrCat(options.folder, "/", kAuthority);
  CertificatePair authority;
  for (auto [into, ending] :
       {std::pair(&authority.cert, ".crt"), std::pair(&authority.key, ".key")}) {
    absl::StatusOr<std::string> text = ReadFile(absl::StrCat(authority_path, ending), kPemBytes);
    if (!text.ok()) {
      return absl::NotFoundError(
          absl::StrCat(std::string(text.status().message()),
                       "; 'dtctl ca init' makes an authority, and --dir says where it is"));
    }
    *into = *std::move(text);
  }
  DT_ASSIGN_OR_RETURN(const CertificatePair pair,
                      IssueCertificate(authority, subject, options.days));
  DT_RETURN_IF_ERROR(WritePair(options.folder, subject.name, pair));
  const std::string path = absl::StrCat(options.folder, "/", subject.name);
  PrintDocument(session, "Certificate",
                {{"name", subject.name},
                 {"role", options.role},
                 {"hosts", subject.hosts},
                 {"cert", absl::StrCat(path, ".crt")},
                 {"key", absl::StrCat(path, ".key")},
                 {"expires_time", TimeJson(Milliseconds(pair.expires))}},
                absl::StrCat(Printable(path), ".crt\n", Printable(path), ".key\n"));
  session.Note(absl::StrCat("For ", options.role, " '", subject.name,
                            "'; it ends: ", FormatLocalTime(Milliseconds(pair.expires)), "."));
  return ExitCode::kOk;
}

CLI::Option* AddFolder(CLI::App* app, std::string& folder, const char* help) {
  return app->add_option("--dir", folder, help)->option_text("FOLDER")->capture_default_str();
}

void AddDays(CLI::App* app, int& days) {
  app->add_option("--days", days, "For how long it holds")
      ->option_text("N")
      ->capture_default_str()
      ->check(CLI::Range(1, kCertificateDaysMax));
}

}  // namespace

void AddCaCommands(CommandTree& tree) {
  CLI::App* group =
      tree.AddGroup("ca", "Make the certificates that programs on several hosts need",
                    "dtctl ca init\n"
                    "dtctl ca issue coordinator --role coordinator --host alpha.example\n"
                    "dtctl ca issue beta --role worker\n"
                    "dtctl ca issue ann --role submitter");
  auto init = std::make_shared<InitOptions>();
  CLI::App* app = tree.Add(group, "init", "Make an authority: ca.crt and ca.key",
                           "dtctl ca init\n"
                           "dtctl ca init --dir /secure/lab-tls --name lab");
  AddFolder(app, init->folder, "Where its files go; made if it is not there");
  app->add_option("--name", init->name, "What its certificate calls it")
      ->option_text("NAME")
      ->capture_default_str();
  AddDays(app, init->days);
  tree.SetCommand(app,
                  {[init](Session& session) { return Init(session, *init); }, kDocumentFormats});

  auto issue = std::make_shared<IssueOptions>();
  app = tree.Add(
      group, "issue", "Make NAME.crt and NAME.key for a program or a person",
      "dtctl ca issue coordinator --role coordinator --host alpha.example --host 192.0.2.10\n"
      "dtctl ca issue gpu07 --role worker --days 90");
  app->add_option("NAME", issue->subject.name, "Who it is for: a worker's name, a person")
      ->required();
  tree.SetWords(app->add_option("--role", issue->role,
                                "coordinator, or what its holder may do: admin, submitter, "
                                "observer, worker; guest: connect, and show a token")
                    ->option_text("ROLE")
                    ->required()
                    ->check(CLI::IsMember(std::vector<std::string>{
                        kCoordinator, "admin", "submitter", "observer", "worker", "guest"})),
                {kCoordinator, "admin", "submitter", "observer", "worker", "guest"});
  app->add_option("--host", issue->subject.hosts,
                  "A host's name or IP address that others dial; may be given several times")
      ->option_text("HOST")
      ->allow_extra_args(false);
  AddFolder(app, issue->folder, "The authority's folder");
  AddDays(app, issue->days);
  tree.SetCommand(app,
                  {[issue](Session& session) { return Issue(session, *issue); }, kDocumentFormats});
}

}  // namespace dt::cli
