# SPDX-License-Identifier: Apache-2.0
"""Credentials of users and tokens, and files that are replaced at once."""
import base64
import ctypes
import os

# The library that everprof uses, too: Python has no module for it since 3.13.
CRYPT = ctypes.CDLL('libcrypt.so.1')
CRYPT.crypt.restype = CRYPT.crypt_gensalt.restype = ctypes.c_char_p


def hashed(password, cost=4):
    """The bcrypt hash of a password; each step of the cost doubles the time."""
    salt = CRYPT.crypt_gensalt(b'$2b$', ctypes.c_ulong(cost), None, 0)
    return CRYPT.crypt(password.encode(), salt).decode()


def basic(user, password):
    return {'Authorization': 'Basic ' + base64.b64encode(f'{user}:{password}'.encode()).decode()}


def bearer(token):
    return {'Authorization': 'Bearer ' + token}


def rewrite(path, text):
    with open(path + '.tmp', 'w') as f:
        f.write(text)
    os.rename(path + '.tmp', path)
