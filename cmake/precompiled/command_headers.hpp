// SPDX-License-Identifier: BSD-3-Clause
//
// For the command lines, which all see CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include "headers.hpp"
