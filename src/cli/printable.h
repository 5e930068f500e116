// How names of files and other words of users are shown: no byte of them reaches a terminal as a command.
#pragma once

#include <string>
#include <string_view>

namespace tutti::cli {

// Control characters, and bytes that are not UTF-8, as in C: "\n", "\033", "\302\233".
std::string printable(std::string_view text);

// As ls shows a name: as it is, or, if it holds something that printable() would change, quoted for a shell:
// 'a'$'\n''b'.
std::string shell_quoted(std::string_view name);

// A name for standard output: shell_quoted() on a terminal, elsewhere as it is, for the next program.
std::string shown(std::string_view name);

}  // namespace tutti::cli
