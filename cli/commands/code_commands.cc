// code_commands.cc: dtctl code: fetches the submitted code of an experiment.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/commands/code.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/repeated_call.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/pack/folder.h"
#include "common/sha256.h"
#include "common/status.h"

namespace dt::cli {
namespace {

struct CodeOptions {
  std::string selector;
  std::string output;
};

absl::StatusOr<std::string> DownloadCode(Session& session, Client& client, const v1::Code& code) {
  std::string packed;
  for (uint32_t part = 0, parts = 1; part < parts; ++part) {
    v1::GetCodeRequest request;
    request.set_digest(code.digest());
    request.set_part(part);
    DT_ASSIGN_OR_RETURN(const v1::GetCodeResponse got,
                        CallUntilAnswered(session, [&] { return client.GetCode(request); }));
    parts = got.parts();
    packed += got.data();
    if (got.data().empty() || packed.size() > limits::kCodeBytes) break;
  }
  if (Sha256Hex(packed) == code.digest()) return packed;
  return absl::DataLossError(absl::StrCat("what came is not the code ", Printable(code.digest()),
                                          "; 'dtcoord check' says whether its copy is damaged"));
}

absl::StatusOr<ExitCode> Unpack(Session& session, const CodeOptions& options) {
  std::error_code ignored;
  if (std::filesystem::exists(options.output, ignored)) {
    return absl::AlreadyExistsError(
        absl::StrCat("'", Printable(options.output), "' is there already; name a new folder"));
  }
  DT_ASSIGN_OR_RETURN(const Selector chosen, session.ChooseExperiment(options.selector));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::GetExperimentResponse found,
                      client->GetExperiment(Select<v1::GetExperimentRequest>(chosen)));
  if (!found.spec().has_code()) {
    return absl::NotFoundError(
        absl::StrCat("experiment ", found.summary().experiment(), " brought no code"));
  }
  const v1::Code& code = found.spec().code();
  DT_ASSIGN_OR_RETURN(const std::string packed, DownloadCode(session, *client, code));
  DT_RETURN_IF_ERROR(pack::UnpackInto(packed, options.output));
  session.out() << Printable(options.output) << "  " << CodeText(code) << "\n" << std::flush;
  return ExitCode::kOk;
}

}  // namespace

void AddCodeCommand(CommandTree& tree) {
  CLI::App* app = tree.Add(&tree.app(), "code", "Unpack the code that an experiment brought",
                           "dtctl code 12 -o what-ran\n"
                           "dtctl code last -o what-ran && diff -r what-ran .");
  auto options = std::make_shared<CodeOptions>();
  app->add_option("EXP", options->selector, "12, or last for the newest")->required();
  app->add_option("-o,--output", options->output, "The folder to make; it must not be there yet")
      ->option_text("DIR")
      ->required();
  tree.SetCommand(app, {[options](Session& session) { return Unpack(session, *options); }, {}});
}

}  // namespace dt::cli
