// SPDX-License-Identifier: BSD-3-Clause
#include "compat/shared/face_options.hpp"

#include <algorithm>
#include <memory>

#include <fmt/ranges.h>

#include "cli/exit.hpp"
#include "cli/help.hpp"
#include "cli/messages.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"

namespace iotrail::compat {
namespace {

class FaceHelp : public cli::HelpFormatter {
public:
  explicit FaceHelp(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return fmt::format("Usage: {}\n", usage_);
  }

private:
  std::string usage_;
};

} // namespace

FaceParser::FaceParser(std::string name, const std::string& summary, const std::string& usage)
    : name_(std::move(name)), app_(summary, name_) {
  app_.formatter(std::make_shared<FaceHelp>(fmt::format("{} {}", name_, usage)));
  app_.set_help_flag("-h,--help", "Print this help");
  app_.option_defaults()->group("Options");
  app_.failure_message(CLI::FailureMessage::simple);
}

Result<bool> FaceParser::parse(const cli::Console& console, std::vector<std::string> words) {
  std::ranges::reverse(words); // the parser takes them from the back
  try {
    app_.parse(words);
    return true;
  } catch (const CLI::ParseError& parse) {
    if (parse.get_exit_code() == 0) {
      output::Sink sink(console.out.file);
      sink.put(app_.help());
      if (auto done = sink.finish(); !done)
        return std::unexpected(done.error());
      return false;
    }
    std::string what = parse.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&parse) != nullptr)
      what = fmt::format("not expected: {}", fmt::join(app_.remaining(), " "));
    return fail_usage(std::move(what), {}, fmt::format("See `{} --help`.", name_));
  }
}

void say(const cli::Console& console, std::string_view face, const std::string& text) {
  cli::print_if_open(console.err, [&] {
    cli::print_message(console.err, fmt::format("{}: {}", face, output::printable_lines(text)));
  });
}

int finish(const cli::Console& console, std::string_view face, const Result<int>& done) {
  if (done)
    return *done;
  say(console, face, output::printable_message(done.error()));
  return static_cast<int>(cli::exit_of(done.error()));
}

} // namespace iotrail::compat
