#pragma once
#include <rs/options.h>
