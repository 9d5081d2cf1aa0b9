// SPDX-License-Identifier: BSD-3-Clause
#include "cli/help.hpp"

#include <fmt/ranges.h>

#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

constexpr std::size_t kNameWidth = 30;

// The parser indents the lines after the first like the first.
std::string broken(const std::string& text, std::size_t width = output::kPlainWidth - kNameWidth) {
  return fmt::format("{}", fmt::join(output::wrapped(text, width), "\n"));
}

} // namespace

std::string value_of(const CLI::Option& option) {
  if (option.get_type_size() == 0)
    return "";
  const bool is_list = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (!is_list)
    return option.get_type_name();
  return option.get_type_name() + (option.get_delimiter() == '\0' ? "..." : ",...");
}

std::string usage_of(const Verb& verb, const CLI::App& parser) {
  std::string usage = fmt::format("{} [OPTIONS]", verb.name);
  for (const CLI::Option* option :
       parser.get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    const bool is_list = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    const std::string name = option->get_type_name() + (is_list ? "..." : "");
    usage += option->get_required() ? " " + name : fmt::format(" [{}]", name);
  }
  return usage + (verb.takes_command ? " -- COMMAND [ARGUMENT...]" : "");
}

HelpFormatter::HelpFormatter() {
  column_width(kNameWidth);
}

std::string HelpFormatter::make_usage(const CLI::App* parser, std::string name) const {
  const auto found = verbs_.find(parser);
  if (found == verbs_.end())
    return "Usage: iotrail VERB [OPTIONS]\n       iotrail VERB --help\n       iotrail -- COMMAND "
           "[ARGUMENT...]\n";
  (void)name; // the parser puts its own usage there
  return fmt::format("Usage: iotrail {}\n", usage_of(*found->second, *parser));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const std::string value = value_of(*option);
  return value.empty() ? "" : " " + value;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return broken(CLI::Formatter::make_option_desc(option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  std::ostringstream out;
  CLI::detail::format_help(out, verb->get_name(), broken(verb->get_description()), kNameWidth);
  return out.str();
}

std::string HelpFormatter::make_footer(const CLI::App* parser) const {
  std::string text = parser->get_footer();
  if (!text.empty())
    text = broken(text, output::kPlainWidth) + "\n";
  const auto found = verbs_.find(parser);
  if (found != verbs_.end() && !found->second->examples.empty())
    text += fmt::format("{}Examples:\n{}", text.empty() ? "" : "\n", found->second->examples);
  return text;
}

} // namespace iotrail::cli
