# SPDX-License-Identifier: Apache-2.0
"""Certificates, made by openssl when they are needed."""
import subprocess


def openssl(*argv):
    subprocess.run(['openssl', *argv], check=True, capture_output=True)


class Authority:
    """A CA that signs what tests need."""

    def __init__(self, d, name='ca'):
        self.d, self.name = d, name
        self.cert, self.key = f'{d}/{name}.pem', f'{d}/{name}.key'
        openssl(
            'req',
            '-x509',
            '-newkey',
            'rsa:2048',
            '-nodes',
            '-days',
            '30',
            '-subj',
            f'/CN={name}',
            '-addext',
            'keyUsage=critical,keyCertSign,cRLSign',
            '-keyout',
            self.key,
            '-out',
            self.cert,
        )
        with open(f'{d}/{name}.cnf', 'w') as f:
            f.write(
                f'[ca]\ndefault_ca=c\n[c]\nnew_certs_dir={d}\ndatabase={d}/{name}.txt\n'
                f'rand_serial=yes\ndefault_md=sha256\npolicy=p\nunique_subject=no\n'
                '[p]\ncommonName=supplied\n'
            )
        open(f'{d}/{name}.txt', 'w').close()

    def sign(self, name, names='', dates=()):
        path = f'{self.d}/{name}'
        openssl(
            'req',
            '-newkey',
            'rsa:2048',
            '-nodes',
            '-subj',
            f'/CN={name}',
            '-keyout',
            path + '.key',
            '-out',
            path + '.csr',
        )
        with open(path + '.ext', 'w') as f:
            f.write(f'subjectAltName={names}\n' if names else 'basicConstraints=CA:FALSE\n')
            f.write('authorityKeyIdentifier=keyid\n')  # clients that are strict, such as Python 3.13, want it
        start, end = dates or ('20200101000000Z', '20990101000000Z')
        openssl(
            'ca',
            '-batch',
            '-config',
            f'{self.d}/{self.name}.cnf',
            '-cert',
            self.cert,
            '-keyfile',
            self.key,
            '-startdate',
            start,
            '-enddate',
            end,
            '-extfile',
            path + '.ext',
            '-notext',
            '-in',
            path + '.csr',
            '-out',
            path + '.pem',
        )
        return path + '.pem', path + '.key'
