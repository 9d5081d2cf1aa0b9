// SPDX-License-Identifier: BSD-3-Clause
#include "cli/help.hpp"

#include <fmt/ranges.h>

#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

constexpr std::size_t kNameWidth = 30;

// The parser indents what follows a line end like what precedes it.
std::string broken(const std::string& text, std::size_t width = output::kPlainWidth - kNameWidth) {
  return fmt::format("{}", fmt::join(output::wrapped(text, width), "\n"));
}

class Formatter : public CLI::Formatter {
public:
  Formatter() { column_width(kNameWidth); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return broken(CLI::Formatter::make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, verb->get_name(), broken(verb->get_description()), kNameWidth);
    return out.str();
  }
  std::string make_footer(const CLI::App* verb) const override {
    const std::string footer = verb->get_footer();
    return footer.empty() ? "" : broken(footer, output::kPlainWidth) + "\n";
  }
};

} // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<Formatter>();
}

} // namespace iotrail::cli
