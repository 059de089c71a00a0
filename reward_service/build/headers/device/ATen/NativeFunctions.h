#pragma once
#include <rs/functions.h>
