// Empty: device code alone uses what this declares.
#pragma once
