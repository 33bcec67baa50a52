# SPDX-License-Identifier: Apache-2.0
"""Credentials of users and tokens, and files that are replaced at once."""
import base64
import os
import warnings

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    import crypt


def hashed(password, cost=4):
    return crypt.crypt(password, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=2 ** cost))


def basic(user, password):
    return {'Authorization': 'Basic ' + base64.b64encode(f'{user}:{password}'.encode()).decode()}


def bearer(token):
    return {'Authorization': 'Bearer ' + token}


def rewrite(path, text):
    with open(path + '.tmp', 'w') as f:
        f.write(text)
    os.rename(path + '.tmp', path)
