#pragma once
#include <rs/std.h>
