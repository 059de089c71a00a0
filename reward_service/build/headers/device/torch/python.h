#pragma once
#include <rs/binding.h>
