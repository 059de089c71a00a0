#pragma once
#include <rs/exception.h>
