#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clouds: their targets, which are those of Prometheus 3.16 for the same answers; how everprof logs in
there; and APIs that misbehave."""
import json
import os
import re
import subprocess
import urllib.parse

from api_server import sample as plain_sample
from cloud_server import SECRETS, Cloud, check_signature, sample, unpack_jwt
from harness import Everprof, Suite, run, wait_until
from sd_peer import configuration, discovered

suite = Suite()
KEYS = {'access_key': 'AKIDEXAMPLE', 'secret_key': SECRETS['AKIDEXAMPLE']}
ROLE = 'arn:aws:iam::123456789012:role/prom'
SUBSCRIPTION = '11111111-1111-1111-1111-111111111111'
TENANT = '33333333-3333-3333-3333-333333333333'
VARIABLES = re.compile('^(AWS|GOOGLE|GCE|AZURE|IDENTITY|MSI|OS)_|^HOME$')


class Environment:
    """Variables for the programs that are started within; all others of clouds are absent."""

    def __init__(self, d, **variables):
        self.wanted = {'HOME': d, 'AWS_EC2_METADATA_DISABLED': 'true', **variables}

    def __enter__(self):
        self.saved = {k: os.environ.pop(k) for k in list(os.environ) if VARIABLES.match(k)}
        os.environ.update({k: v for k, v in self.wanted.items() if v is not None})

    def __exit__(self, *error):
        for k in self.wanted:
            os.environ.pop(k, None)
        os.environ.update(self.saved)


def entry(kind, **keys):
    return f'  {kind}_sd_configs:\n  - {json.dumps({"refresh_interval": "1s", "port": 9100, **keys})}'


def found(e, job='cloud'):
    """The labels of all targets, without those that do not come from a discovery."""
    return sorted(
        (
            [k for k in labels if k[0].startswith('__meta_') or k[0] == '__address__']
            for _, labels in discovered(e.get('/api/v1/targets').data(), [job])
        )
    )


def golden(name):
    """What Prometheus 3.16 makes of the same answers. A label without a value is no label."""
    return sorted(
        sorted((k, v) for k, v in labels.items() if v) for labels in json.loads(sample(f'{name}_labels.json'))
    )


def start(d, entry_text, **variables):
    with Environment(d, **variables):
        return Everprof(d, configuration({'cloud': entry_text}))


def expect(d, name, entry_text, **variables):
    """Start everprof, and wait for the targets that Prometheus finds."""
    e, want = start(d, entry_text, **variables).ready(), golden(name)
    try:
        wait_until(f'targets of {name}', 30, lambda: found(e) == want)
    except AssertionError as error:
        raise AssertionError(f'{error}\n{found(e)}\n{want}\n{e.text()[-3000:]}') from error
    return e


def expect_error(d, entry_text, *texts, **variables):
    """Start everprof, and wait for a failed refresh; nothing secret is in the log."""
    e = start(d, entry_text, **variables).ready()
    wait_until(f'{texts} in the log', 30, lambda: all(t in e.text() for t in texts))
    assert found(e) == []
    check_secrets(e)
    e.finish()


def check_secrets(e):
    for secret in (
        *SECRETS.values(),
        'IQoJb3JpZ2luX2Vj',
        'wJalrXUtnFEMI',
        'EXAMPLE-secret',
        '1//0EXAMPLE',
        'PRIVATE KEY',
        'eyJ0eXAiOiJKV1Qi',
        'p4ssw0rd',
        'ya29.',
    ):
        assert secret not in e.text(), (secret, e.text())


# EC2.


def ec2_answer(secrets=None, token=None):
    """The API of EC2; it refuses requests that are not well signed."""

    def answer(asked):
        if asked.method == 'POST' and asked.form.get('Action', '').startswith('Describe'):
            check_signature(asked, secrets or SECRETS, 'ec2')
            assert asked.headers['X-Amz-Security-Token'] == token, dict(asked.headers)
            assert asked.form['Version'] == '2016-11-15'
        action, page = asked.form.get('Action'), asked.form.get('NextToken')
        if action == 'DescribeAvailabilityZones':
            return sample('ec2_describe_availability_zones.xml')
        if action == 'DescribeInstances':
            return sample(f'ec2_describe_instances_page{2 if page else 1}.xml')
        return None

    return answer


def credentials_of(name):
    """The keys of a sample of credentials, and their session token."""
    text = sample(name)
    get = lambda key: re.search(rf'{key}\W+([^"<]+)', text)[1]
    token = get('SessionToken' if 'SessionToken' in text else 'Token')
    return {get('AccessKeyId'): get('SecretAccessKey')}, token


def instance_answer(session, role):
    """The metadata service of an instance, and EC2. Without a session, the service is an old one."""
    ec2 = ec2_answer(*credentials_of('ec2_imds_credentials.json'))

    def answer(asked):
        if asked.path == '/latest/api/token' and session:
            assert asked.method == 'PUT' and asked.headers['X-aws-ec2-metadata-token-ttl-seconds']
            return session + '\n'
        if asked.path.startswith('/latest/') and asked.headers['X-aws-ec2-metadata-token'] != session:
            return 401, ''
        base = '/latest/meta-data/iam/security-credentials/'
        return {
            '/latest/dynamic/instance-identity/document': sample('ec2_imds_identity_document.json'),
            base: role + '\n',
            base + urllib.parse.quote(role): sample('ec2_imds_credentials.json'),
        }.get(asked.path) or ec2(asked)

    return answer


@suite.test
def ec2_finds_the_instances_of_prometheus(d):
    cloud = Cloud(d, ec2_answer())
    filters = [{'name': 'tag:Env', 'values': ['prod', 'pre prod+&=']}, {'name': 'x', 'values': ['']}]
    e = expect(d, 'ec2', entry('ec2', region='eu-west-1', filters=filters, **KEYS, **cloud.options()))
    asked = cloud.requests('POST ec2.eu-west-1.amazonaws.com/')
    form = next(a for a in asked if 'NextToken' in a.form).form
    assert form['NextToken'] == 'eyJ2IjoiMiIsImMiOiJwYWdlMiJ9+/=', form
    assert (form['Filter.1.Name'], form['Filter.1.Value.2'], form['Filter.2.Name']) == (
        'tag:Env',
        'pre prod+&=',
        'x',
    ), form
    check_secrets(e)
    e.finish()
    cloud.stop()


@suite.test
def ec2_endpoint_and_region_can_be_configured(d):
    cloud = Cloud(d, ec2_answer())
    e = expect(d, 'ec2', entry('ec2', endpoint=cloud.url + '/', **KEYS), AWS_REGION='eu-west-1')
    e.finish()
    e = expect(
        d,
        'ec2',
        entry('ec2', region='eu-west-1'),
        AWS_ENDPOINT_URL_EC2=cloud.url,
        AWS_ACCESS_KEY_ID='AKIDEXAMPLE',
        AWS_SECRET_ACCESS_KEY=SECRETS['AKIDEXAMPLE'],
    )
    e.finish()
    cloud.stop()


@suite.test
def ec2_takes_keys_and_region_from_profiles(d):
    cloud = Cloud(d, ec2_answer())
    os.makedirs(f'{d}/.aws')
    with open(f'{d}/.aws/credentials', 'w') as f:
        f.write(
            '[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n'
            '[prod] ; comment\n# comment\nAWS_ACCESS_KEY_ID=AKIDEXAMPLE # comment\n'
            f' nested = 1\naws_secret_access_key = {SECRETS["AKIDEXAMPLE"]}\n'
        )
    with open(f'{d}/.aws/config', 'w') as f:
        f.write('[default]\nregion = us-east-1\n[profile prod]\nregion=eu-west-1\n[prod]\nregion=none\n')
    expect(d, 'ec2', entry('ec2', endpoint=cloud.url), AWS_PROFILE='prod').finish()
    expect(
        d,
        'ec2',
        entry('ec2', endpoint=cloud.url, profile='prod'),
        AWS_ACCESS_KEY_ID='wrong',
        AWS_SECRET_ACCESS_KEY='wrong',
    ).finish()
    cloud.stop()


@suite.test
def ec2_takes_keys_and_region_from_the_instance(d):
    cloud = Cloud(d, instance_answer('session-1', 'my role'))
    e = expect(
        d,
        'ec2',
        entry('ec2', **cloud.options()),
        AWS_EC2_METADATA_DISABLED=None,
        AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url + '/',
    )
    refreshes = len(cloud.requests('POST ec2'))
    wait_until('more refreshes', 20, lambda: len(cloud.requests('POST ec2')) > refreshes + 6)
    assert len(cloud.requests('here/latest/')) == 4, cloud.requests('here')
    check_secrets(e)
    e.finish()
    cloud.stop()


@suite.test
def ec2_recovers_when_the_metadata_service_was_away(d):
    """It is not taken for an old service for ever."""
    cloud = Cloud(d, instance_answer('session-1', 'role'))
    cloud.trouble = lambda asked: (503, '')
    e = start(
        d,
        entry('ec2', region='eu-west-1', **cloud.options()),
        AWS_EC2_METADATA_DISABLED=None,
        AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url,
    ).ready()
    wait_until('a failure', 20, lambda: 'of the instance gives none' in e.text())
    cloud.trouble = None
    wait_until('targets', 20, lambda: found(e) == golden('ec2'))
    e.finish()
    cloud.stop()


@suite.test
def ec2_asks_an_old_metadata_service_without_a_session(d):
    cloud = Cloud(d, instance_answer(None, 'role'))
    expect(
        d,
        'ec2',
        entry('ec2', region='eu-west-1', **cloud.options()),
        AWS_EC2_METADATA_DISABLED=None,
        AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url,
    ).finish()
    assert cloud.asked and not any(a.headers['X-aws-ec2-metadata-token'] for a in cloud.asked)
    cloud.stop()


@suite.test
def ec2_assumes_a_role(d):
    secrets, token = credentials_of('ec2_sts_assume_role.xml')
    ec2 = ec2_answer(secrets, token)

    def answer(asked):
        if asked.form.get('Action') == 'AssumeRole':
            assert check_signature(asked, SECRETS, 'sts') == 'AKIDEXAMPLE'
            assert asked.form['RoleArn'] == ROLE and asked.form['ExternalId'] == 'me & you'
            assert len(asked.form['RoleSessionName']) >= 2 and asked.form['Version'] == '2011-06-15'
            return sample('ec2_sts_assume_role.xml')
        return ec2(asked)

    cloud = Cloud(d, answer)
    e = expect(
        d, 'ec2', entry('ec2', region='eu-west-1', role_arn=ROLE, external_id='me & you', **KEYS, **cloud.options())
    )
    assert len(cloud.requests('POST sts.eu-west-1.amazonaws.com/')) == 1
    check_secrets(e)
    e.finish()
    cloud.stop()


@suite.test
def ec2_assumes_a_role_for_a_web_identity(d):
    secrets, token = credentials_of('ec2_sts_assume_role_web_identity.xml')
    ec2 = ec2_answer(secrets, token)

    def answer(asked):
        if asked.form.get('Action') == 'AssumeRoleWithWebIdentity':
            assert not asked.headers['Authorization'] and asked.form['WebIdentityToken'] == 'a.b.c'
            assert (asked.form['RoleArn'], asked.form['RoleSessionName']) == (ROLE, 'pod-1')
            return sample('ec2_sts_assume_role_web_identity.xml')
        return ec2(asked)

    cloud = Cloud(d, answer)
    with open(f'{d}/token', 'w') as f:
        f.write('a.b.c\n')
    e = expect(
        d,
        'ec2',
        entry('ec2', region='eu-west-1', endpoint=cloud.url),
        AWS_ROLE_ARN=ROLE,
        AWS_ENDPOINT_URL_STS=cloud.url,
        AWS_WEB_IDENTITY_TOKEN_FILE=f'{d}/token',
        AWS_ROLE_SESSION_NAME='pod-1',
    )
    check_secrets(e)
    e.finish()
    cloud.stop()


@suite.test
def ec2_takes_keys_from_the_agent_of_a_container(d):
    secrets, token = credentials_of('ec2_container_credentials.json')
    ec2 = ec2_answer(secrets, token)

    def answer(asked):
        if asked.path == '/v2/credentials':
            ok = asked.headers['Authorization'] == 'tok 1'
            return sample('ec2_container_credentials.json') if ok else (401, '{"code": "NotYou"}')
        return ec2(asked)

    cloud = Cloud(d, answer)
    with open(f'{d}/token', 'w') as f:
        f.write('tok 1\n')
    text = entry('ec2', region='eu-west-1', endpoint=cloud.url)
    expect(
        d,
        'ec2',
        text,
        AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + '/v2/credentials',
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=f'{d}/token',
    ).finish()
    expect_error(
        d,
        text,
        'NotYou',
        AWS_CONTAINER_AUTHORIZATION_TOKEN='tok 2',
        AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + '/v2/credentials',
    )
    expect_error(
        d, text, 'must be an https URL', AWS_CONTAINER_CREDENTIALS_FULL_URI='http://example.com/v2/credentials'
    )
    cloud.stop()


@suite.test
def ec2_errors_say_what_to_do(d):
    cloud = Cloud(d, lambda asked: (403, sample('ec2_sts_error.xml')))
    text = entry('ec2', region='eu-west-1', endpoint=cloud.url)
    role = {'AWS_ENDPOINT_URL_STS': cloud.url}
    expect_error(
        d,
        entry('ec2', region='eu-west-1', endpoint=cloud.url, role_arn=ROLE, **KEYS),
        'credentials: ' + cloud.url,
        '403: AccessDenied',
        **role,
    )
    expect_error(d, text, 'no access key is configured')
    expect_error(d, entry('ec2', endpoint=cloud.url, **KEYS), 'no region is configured')
    expect_error(d, entry('ec2', region='eu-west-1', profile='none'), 'AWS profile none: there is no such')
    expect_error(d, text, 'a web identity needs a role', AWS_WEB_IDENTITY_TOKEN_FILE='/none')
    os.makedirs(f'{d}/.aws')
    for settings, what in (
        ('role_arn = x', 'role_arn needs source_profile'),
        ('aws_access_key_id = x', 'the profile lacks aws_access_key_id or'),
        (
            'source_profile = a\nrole_arn = x\n[profile a]\nsource_profile = default\n' 'role_arn = y',
            'source_profile leads from profile to profile',
        ),
        ('sso_session = x', 'sso_session is not supported'),
        ('credential_source = Moon\nrole_arn = x', 'not Environment, Ec2InstanceMetadata or EcsContainer'),
    ):
        with open(f'{d}/.aws/config', 'w') as f:
            f.write(f'[default]\n{settings}\n')
        expect_error(d, text, what)
    cloud.stop()


@suite.test
def ec2_keeps_targets_when_the_api_fails(d):
    cloud = Cloud(d, ec2_answer())
    text = entry('ec2', region='eu-west-1', endpoint=cloud.url, **KEYS)
    e = expect(d, 'ec2', text)
    for status, name, what in (
        (503, 'ec2_error_throttled.xml', 'RequestLimitExceeded'),
        (401, 'ec2_error_authfailure.xml', 'AuthFailure'),
        (500, plain_sample('eureka_apps.xml')[:50], 'status 500'),
        (200, '<a><b></a>', 'answer: line 1'),
        (200, '', 'no element found'),
        (200, '{"not": "xml"}', 'answer: line 1'),
    ):
        answer = (status, sample(name) if name.endswith('.xml') else name)
        cloud.trouble = lambda asked, answer=answer: answer
        wait_until(what, 20, lambda what=what: what in e.text())
    assert found(e) == golden('ec2')
    assert sum('Zones' in a.body for a in cloud.asked) == 1, 'zones are kept'
    check_secrets(e)
    e.finish()
    # Without the right to list zones, or where the action does not exist, there are no IDs of zones.
    without = [[l for l in labels if 'zone_id' not in l[0]] for labels in golden('ec2')]
    for name, answer in (
        ('denied', (403, sample('ec2_sts_error.xml'))),
        ('invalid', (400, '<Response/>')),
        ('broken', (200, '<a><b></a>')),
        ('busy', (503, '')),
    ):
        os.mkdir(f'{d}/{name}')
        cloud.trouble = lambda asked, answer=answer: answer if 'Zones' in asked.body else None
        e = start(f'{d}/{name}', text).ready()
        wait_until(name, 20, lambda: found(e) == without)
        cloud.trouble = None
        wait_until('zones, later', 20, lambda: found(e) == golden('ec2'))
        e.finish()
    cloud.stop()


# GCE.


def gce_answer(token='ya29.EXAMPLE'):
    def answer(asked):
        if asked.host != 'compute.googleapis.com':
            return None
        assert asked.headers['Authorization'] == f'Bearer {token}', asked.headers['Authorization']
        assert asked.path == '/compute/v1/projects/my-proj/zones/europe-west1-b/instances', asked
        return sample(f'gce_instances_page{2 if asked.query.get("pageToken") else 1}.json')

    return answer


def gce_entry(cloud, **keys):
    return entry('gce', project='my-proj', zone='europe-west1-b', **keys, **cloud.options())


def token_of(name):
    return json.loads(sample(name))['access_token']


@suite.test
def gce_finds_the_instances_of_prometheus_as_a_service_account(d):
    gce, tokens = gce_answer(token_of('gce_oauth_token.json')), []

    def answer(asked):
        if asked.path == '/token':
            assert asked.form['grant_type'] == 'urn:ietf:params:oauth:grant-type:jwt-bearer'
            tokens.append(unpack_jwt(asked.form['assertion']))
            return sample('gce_oauth_token.json')
        return gce(asked)

    cloud = Cloud(d, answer)
    subprocess.run(['openssl', 'genpkey', '-algorithm', 'RSA', '-out', f'{d}/key.pem'], check=True, capture_output=True)
    subprocess.run(['openssl', 'pkey', '-in', f'{d}/key.pem', '-pubout', '-out', f'{d}/pub.pem'], check=True)
    with open(f'{d}/key.pem') as f, open(f'{d}/account.json', 'w') as out:
        json.dump(
            {
                'type': 'service_account',
                'private_key': f.read(),
                'private_key_id': 'k1',
                'client_email': 'prof@my-proj.iam.gserviceaccount.com',
                'token_uri': 'https://oauth2.googleapis.com/token',
            },
            out,
        )
    e = expect(
        d,
        'gce',
        gce_entry(cloud, filter='(labels.env = "prod") AND (status = RUNNING)'),
        GOOGLE_APPLICATION_CREDENTIALS=f'{d}/account.json',
    )
    header, claims, text, signature = tokens[0]
    assert header == {'alg': 'RS256', 'typ': 'JWT', 'kid': 'k1'}, header
    assert claims['iss'] == 'prof@my-proj.iam.gserviceaccount.com' and claims['exp'] - claims['iat'] == 3600
    assert claims['scope'] == 'https://www.googleapis.com/auth/compute.readonly'
    assert claims['aud'] == 'https://oauth2.googleapis.com/token'
    with open(f'{d}/text', 'wb') as f, open(f'{d}/signature', 'wb') as s:
        f.write(text)
        s.write(signature)
    subprocess.run(
        ['openssl', 'dgst', '-sha256', '-verify', f'{d}/pub.pem', '-signature', f'{d}/signature', f'{d}/text'],
        check=True,
        capture_output=True,
    )
    asked = cloud.requests('GET compute')
    assert asked[0].query == {'filter': ['(labels.env = "prod") AND (status = RUNNING)']}, asked[0]
    assert asked[1].query['pageToken'] == ['CjUKCHdlYi0xEgkKB2V1cm9wZQ=='], asked[1]
    wait_until('more refreshes', 20, lambda: len(cloud.requests('GET compute')) > 6)
    assert len(tokens) == 1, 'a token is used until it expires'
    # A token that is refused is replaced by another.
    gone = []
    cloud.trouble = lambda asked: gone.append(1) or (401, sample('gce_error_403.json')) if not gone else None
    wait_until('another token', 20, lambda: len(tokens) == 2)
    wait_until('targets stay', 20, lambda: found(e) == golden('gce'))
    check_secrets(e)
    e.finish()
    cloud.stop()


@suite.test
def gce_takes_tokens_for_a_user_and_from_the_instance(d):
    def answer(asked):
        if asked.path == '/token':
            assert (asked.form['grant_type'], asked.form['refresh_token']) == (
                'refresh_token',
                '1//0EXAMPLE-refresh',
            ), asked
            return sample('gce_oauth_token.json')
        if asked.path.endswith('/service-accounts/default/token'):
            assert asked.headers['Metadata-Flavor'] == 'Google' and asked.query['scopes']
            return sample('gce_metadata_token.json')
        return gce_answer(token)(asked)

    cloud = Cloud(d, answer)
    token = token_of('gce_metadata_token.json')
    expect(d, 'gce', gce_entry(cloud), GCE_METADATA_HOST=cloud.server.address).finish()
    token = token_of('gce_oauth_token.json')
    os.makedirs(f'{d}/.config/gcloud')
    with open(f'{d}/.config/gcloud/application_default_credentials.json', 'w') as f:
        f.write(sample('gce_credentials_authorized_user.json'))
    expect(d, 'gce', gce_entry(cloud), GCE_METADATA_HOST=cloud.server.address).finish()
    cloud.stop()


@suite.test
def gce_errors_say_what_to_do(d):
    cloud = Cloud(
        d,
        lambda asked: (403, sample('gce_error_403.json'))
        if asked.host.startswith('compute')
        else (400, sample('gce_oauth_token_error.json'))
        if asked.path == '/token'
        else (404, 'none'),
    )
    path = f'{d}/account.json'

    def write(text):
        with open(path, 'w') as f:
            f.write(text)

    variables = {'GOOGLE_APPLICATION_CREDENTIALS': path}
    expect_error(d, gce_entry(cloud), 'gives no usable token', GCE_METADATA_HOST=cloud.server.address)
    expect_error(d, gce_entry(cloud), 'GOOGLE_APPLICATION_CREDENTIALS', 'No such file', **variables)
    write('{"type": ')
    expect_error(d, gce_entry(cloud), path, **variables)
    write('{"type": "external_account"}')
    expect_error(d, gce_entry(cloud), 'only service_account and authorized_user are supported', **variables)
    write('{"type": "service_account", "private_key": "p4ssw0rd"}')
    expect_error(d, gce_entry(cloud), 'or not an RSA key in PEM', **variables)
    write(sample('gce_credentials_authorized_user.json'))
    expect_error(
        d,
        gce_entry(cloud),
        'credentials: https://oauth2.googleapis.com/token',
        '400: ' + json.loads(sample('gce_oauth_token_error.json'))['error'],
        **variables,
    )
    cloud.trouble = lambda asked: sample('gce_oauth_token.json') if asked.path == '/token' else None
    expect_error(d, gce_entry(cloud), 'HTTP status 403', **variables)
    cloud.trouble = lambda asked: '{"access_token": "ya29.x"}' if asked.path == '/token' else None
    expect_error(d, gce_entry(cloud), 'no valid expires_in', **variables)
    cloud.stop()


# Azure.

NICS = {
    'vm1-nic': 'vm1_primary',
    'vm1-nic2': 'vm1_secondary',
    'vm2-nic': 'vm2',
    'vm3-nic': 'deallocated',
    'pool1-nic': 'vmss',
}


def azure_answer(token, manager='management.azure.com'):
    def answer(asked):
        if asked.host != manager:
            return None
        assert asked.headers['Authorization'] == f'Bearer {token}', dict(asked.headers)
        assert asked.query['api-version'], asked
        end = asked.path.rpartition('/')[2]
        if '/networkInterfaces/' in asked.path:
            assert asked.query['$expand'] == ['IPConfigurations/PublicIPAddress'], asked
            assert ('/virtualMachineScaleSets/pool1/virtualMachines/0/' in asked.path) == (end == 'pool1-nic')
            return sample(f'azure_nic_{NICS[end]}.json') if end in NICS else None
        if end == 'virtualMachineScaleSets':
            return sample('azure_vmss_list.json')
        if '/virtualMachineScaleSets/' in asked.path:
            return sample('azure_vmss_vms.json')
        page = 2 if '$skiptoken' in asked.query else 1
        return sample(f'azure_vms_page{page}.json').replace('management.azure.com', manager)

    return answer


def azure_entry(cloud, **keys):
    return entry('azure', subscription_id=SUBSCRIPTION, tenant_id=TENANT, **keys, **cloud.options())


OAUTH = {'client_id': 'app', 'client_secret': 'p4ssw0rd'}


@suite.test
def azure_finds_the_machines_of_prometheus(d):
    token = token_of('azure_oauth_token.json')
    azure = azure_answer(token)

    def answer(asked):
        if asked.host == 'login.microsoftonline.com':
            assert asked.path == f'/{TENANT}/oauth2/v2.0/token', asked
            assert asked.form == {
                'grant_type': 'client_credentials',
                **OAUTH,
                'scope': 'https://management.core.windows.net//.default',
            }, asked
            return sample('azure_oauth_token.json')
        return azure(asked)

    cloud = Cloud(d, answer)
    e = expect(d, 'azure', azure_entry(cloud, **OAUTH))
    wait_until('more refreshes', 20, lambda: len(cloud.requests('/virtualMachineScaleSets')) > 9)
    nics = [a.path.rpartition('/')[2] for a in cloud.requests('/networkInterfaces/')]
    assert all(nics.count(n) == 1 for n in NICS) and nics.count('gone-nic') > 2, nics
    assert len(cloud.requests('/oauth2/')) == 1
    # An interface for which there is no right is an error, and not a machine less.
    e.finish()
    cloud.trouble = (
        lambda asked: (403, '{"error": {"code": "AuthorizationFailed"}}') if (asked.path.endswith('/vm1-nic')) else None
    )
    expect_error(d, azure_entry(cloud, **OAUTH), '403: AuthorizationFailed')
    cloud.stop()


@suite.test
def azure_takes_tokens_of_all_kinds_of_identities(d):
    token = token_of('azure_oauth_token.json')
    azure = azure_answer(token)

    def answer(asked):
        if asked.path == '/msi/token':
            assert asked.headers['X-IDENTITY-HEADER'] == 'p4ssw0rd' and asked.query == {
                'api-version': ['2019-08-01'],
                'resource': ['https://management.core.windows.net/'],
                'client_id': ['who'],
            }, asked
            return sample('azure_oauth_token.json')
        if asked.path == '/metadata/identity/oauth2/token':
            assert asked.headers['Metadata'] == 'true' and asked.query == {
                'api-version': ['2018-02-01'],
                'resource': ['https://management.core.windows.net/'],
            }, asked
            return sample('azure_imds_token.json').replace(token_of('azure_imds_token.json'), token)
        if asked.host == 'login.microsoftonline.com':
            assert asked.path == '/t1/oauth2/v2.0/token' and asked.form['client_id'] == 'c1', asked
            if 'client_secret' not in asked.form:
                assert asked.form['client_assertion'] == 'a.b.c', asked
                assert asked.form['client_assertion_type'].endswith(':jwt-bearer')
            return sample('azure_oauth_token.json')
        return azure(asked)

    cloud = Cloud(d, answer)
    with open(f'{d}/token', 'w') as f:
        f.write('a.b.c\n')
    app = {'AZURE_CLIENT_ID': 'c1', 'AZURE_TENANT_ID': 't1'}
    file, service = {'AZURE_FEDERATED_TOKEN_FILE': f'{d}/token'}, {
        'IDENTITY_ENDPOINT': cloud.url + '/msi/token',
        'IDENTITY_HEADER': 'p4ssw0rd',
    }
    instance = {'AZURE_POD_IDENTITY_AUTHORITY_HOST': cloud.url}
    for method, keys, variables in (
        ('ManagedIdentity', {'client_id': 'who'}, service),
        ('ManagedIdentity', {}, instance),
        ('WorkloadIdentity', {}, {**app, **file}),
        ('SDK', {}, {**app, **file}),
        ('SDK', {}, {**app, 'AZURE_CLIENT_SECRET': 'p4ssw0rd'}),
        ('SDK', {}, {**service, 'AZURE_CLIENT_ID': 'who'}),
        ('SDK', {}, instance),
    ):
        e = expect(d, 'azure', azure_entry(cloud, authentication_method=method, **keys), **variables)
        check_secrets(e)
        e.finish()
    cloud.stop()


@suite.test
def azure_clouds_and_errors(d):
    token = token_of('azure_oauth_token.json')
    azure = azure_answer(token, 'management.usgovcloudapi.net')

    def answer(asked):
        if asked.host == 'login.microsoftonline.us':
            assert asked.form['scope'] == 'https://management.core.usgovcloudapi.net//.default', asked
            return sample('azure_oauth_token.json')
        assert '/resourceGroups/' in asked.path or '$skiptoken' in asked.query, asked
        return azure(asked)

    cloud = Cloud(d, answer)
    text = azure_entry(cloud, environment='azureusgovernmentcloud', resource_group='MyGroup', **OAUTH)
    e = expect(d, 'azure', text)
    for answer, what in (
        ((429, sample('azure_error_429.json')), 'HTTP status 429'),
        ('{"value": [', 'answer:'),
        ('{"value": [], "nextLink": "https://evil.example/x"}', 'another scheme, host or port'),
    ):
        cloud.trouble = lambda asked, answer=answer: answer if asked.host.startswith('man') else None
        wait_until(what, 20, lambda what=what: what in e.text())
    assert found(e) == golden('azure')
    e.finish()
    cloud.trouble = lambda asked: (401, sample('azure_oauth_error.json'))
    expect_error(d, text, '/oauth2/v2.0/token: server returned HTTP status 401: invalid_client')
    expect_error(d, azure_entry(cloud, authentication_method='WorkloadIdentity'), 'AZURE_FEDERATED_TOKEN_FILE')
    expect_error(
        d, azure_entry(cloud, authentication_method='ManagedIdentity'), 'not supported', MSI_ENDPOINT='http://x'
    )
    cloud.stop()


# OpenStack.


def openstack(cloud, token='gAAAAABEXAMPLE'):
    """The APIs of OpenStack."""
    bodies = []

    def text(name):
        return sample(name).replace('http://OPENSTACK', cloud().url)

    def answer(asked):
        if asked.path == '/identity/v3/auth/tokens':
            bodies.append(json.loads(asked.body))
            return 201, text('openstack_token_v3.json'), {'X_Subject_Token': token}
        assert asked.headers['X-Auth-Token'] == token, dict(asked.headers)
        page = 2 if 'marker' in asked.query else 1
        base = '/RegionOne/public/'
        name = {
            f'{base}compute/v2.1/os-hypervisors/detail': 'hypervisors',
            f'{base}compute/v2.1/servers/detail': f'servers_page{page}',
            f'{base}network/v2.0/ports': f'ports_page{page}',
            f'{base}network/v2.0/floatingips': 'floatingips',
            f'{base}lb/v2.0/lbaas/loadbalancers': 'loadbalancers',
            f'{base}lb/v2.0/lbaas/listeners': 'listeners',
        }.get(asked.path)
        return text(f'openstack_{name}.json') if name else None

    return answer, bodies


def start_openstack(d):
    box = []
    answer, bodies = openstack(lambda: box[0])
    box.append(Cloud(d, answer))
    return box[0], bodies


STACK = {
    'region': 'RegionOne',
    'username': 'prof',
    'password': 'p4ssw0rd',
    'domain_name': 'Default',
    'project_name': 'demo',
}


@suite.test
def openstack_finds_the_targets_of_prometheus(d):
    cloud, bodies = start_openstack(d)
    for role in ('instance', 'hypervisor', 'loadbalancer'):
        e = expect(
            d,
            f'openstack_{role}',
            entry('openstack', role=role, all_tenants=True, identity_endpoint=cloud.url + '/identity/', **STACK),
        )
        wait_until('another refresh', 20, lambda: len(cloud.requests('RegionOne')) > 8)
        check_secrets(e)
        e.finish()
        cloud.asked.clear()
        assert bodies == [
            {
                'auth': {
                    'identity': {
                        'methods': ['password'],
                        'password': {'user': {'name': 'prof', 'password': 'p4ssw0rd', 'domain': {'name': 'Default'}}},
                    },
                    'scope': {'project': {'name': 'demo', 'domain': {'name': 'Default'}}},
                }
            }
        ], bodies
        bodies.clear()
    cloud.stop()


@suite.test
def openstack_logs_in_by_ids_application_credentials_and_the_environment(d):
    cloud, bodies = start_openstack(d)
    where = {'role': 'hypervisor', 'region': 'RegionOne'}
    here = {'identity_endpoint': cloud.url + '/identity/v3'}
    name = {'name': 'prof', 'domain': {'id': 'd1'}}

    def auth(identity, **scope):
        return {'auth': {'identity': identity, **scope}}

    project = {'scope': {'project': {'id': 'p1'}}}
    password = {'methods': ['password'], 'password': {'user': {'id': 'u1', 'password': 'p4ssw0rd'}}}
    cases = [
        ({**here, 'userid': 'u1', 'password': 'p4ssw0rd', 'project_id': 'p1'}, {}, auth(password, **project)),
        (
            {**here, 'application_credential_id': 'a1', 'application_credential_secret': 'p4ssw0rd'},
            {},
            auth({'methods': ['application_credential'], 'application_credential': {'id': 'a1', 'secret': 'p4ssw0rd'}}),
        ),
        (
            {
                **here,
                'application_credential_name': 'n1',
                'application_credential_secret': 'p4ssw0rd',
                'username': 'prof',
                'domain_id': 'd1',
            },
            {},
            auth(
                {
                    'methods': ['application_credential'],
                    'application_credential': {'name': 'n1', 'user': name, 'secret': 'p4ssw0rd'},
                }
            ),
        ),
        (
            {'username': 'ignored'},
            {
                'OS_AUTH_URL': here['identity_endpoint'],
                'OS_USERID': 'u1',
                'OS_PASSWORD': 'p4ssw0rd',
                'OS_TENANT_ID': 'p1',
            },
            auth(password, **project),
        ),
    ]
    for keys, variables, body in cases:
        e = expect(d, 'openstack_hypervisor', entry('openstack', **where, **keys), **variables)
        assert bodies == [body], bodies
        bodies.clear()
        check_secrets(e)
        e.finish()
    cloud.stop()


@suite.test
def openstack_errors_say_what_to_do(d):
    cloud, _ = start_openstack(d)
    where = {'role': 'instance', 'region': 'RegionOne', 'identity_endpoint': cloud.url + '/identity'}
    for keys, what in (
        ({}, 'neither a password nor an application credential'),
        ({'password': 'x'}, 'a password requires username or userid'),
        ({'password': 'x', 'username': 'a'}, 'username requires domain_name'),
        ({'password': 'x', 'username': 'a', 'userid': 'b'}, 'at most one of username'),
        ({'password': 'x', 'userid': 'b', 'project_name': 'c'}, 'project_name requires'),
        ({'application_credential_id': 'x'}, 'has no secret'),
        ({'password': 'x', 'userid': 'b', 'region': 'Moon'}, 'no public endpoint of service compute in region Moon'),
        ({'password': 'x', 'userid': 'b', 'identity_endpoint': cloud.url + '/v2.0'}, 'version 2.0 of the identity API'),
    ):
        expect_error(d, entry('openstack', **{**where, **keys}), what)
    expect_error(d, entry('openstack', role='instance', region='RegionOne'), 'or the environment variable OS_AUTH_URL')
    keys = {**where, 'userid': 'u', 'password': 'p4ssw0rd'}
    cloud.trouble = lambda asked: (401, sample('openstack_token_error_401.json'))
    expect_error(d, entry('openstack', **keys), '/auth/tokens: server returned HTTP status 401: Unauthorized')
    cloud.trouble = lambda asked: (403, sample('openstack_nova_error_403.json')) if ('servers' in asked.path) else None
    expect_error(d, entry('openstack', **keys), 'HTTP status 403')
    # The address of a next page may be wrong, as behind a proxy: only its query counts.
    cloud.trouble = (
        lambda asked: json.dumps(
            {'servers': [], 'servers_links': [{'rel': 'next', 'href': 'http://evil.example/x?marker=1'}]}
        )
        if 'servers' in asked.path
        else None
    )
    e = start(d, entry('openstack', **keys)).ready()
    wait_until('refreshes', 20, lambda: len(cloud.requests('servers')) > 2)
    e.finish()
    cloud.stop()


@suite.test
def secrets_in_answers_and_files_that_are_not_json_are_not_shown(d):
    """A parser would quote the text near a mistake."""
    cloud = Cloud(d, lambda asked: '{"access_token": "ya29.cut-off')
    expect_error(d, gce_entry(cloud), 'answer:1:30', GCE_METADATA_HOST=cloud.server.address)
    with open(f'{d}/account.json', 'w') as f:
        f.write('{"type":"authorized_user","refresh_token":ya29.EXAMPLE-secret}')
    expect_error(d, gce_entry(cloud), 'account.json:1:', GOOGLE_APPLICATION_CREDENTIALS=f'{d}/account.json')
    cloud.stop()


@suite.test
def ec2_reads_keys_again_after_a_refusal(d):
    secrets = {**SECRETS, 'OLD': 'old'}
    good = ec2_answer(secrets)

    def answer(asked):
        old = 'Credential=OLD/' in asked.headers['Authorization']
        return (
            (400, '<Response><Errors><Error><Code>RequestExpired</Code></Error></Errors></Response>')
            if (old)
            else good(asked)
        )

    cloud = Cloud(d, answer)
    os.makedirs(f'{d}/.aws')

    def write(key):
        with open(f'{d}/.aws/credentials', 'w') as f:
            f.write(f'[default]\naws_access_key_id={key}\naws_secret_access_key={secrets[key]}\n')

    write('OLD')
    e = start(d, entry('ec2', region='eu-west-1', endpoint=cloud.url)).ready()
    wait_until('a refusal', 20, lambda: 'HTTP status 400: RequestExpired' in e.text())
    write('AKIDEXAMPLE')
    wait_until('targets', 20, lambda: found(e) == golden('ec2'))
    e.finish()
    cloud.stop()


@suite.test
def ec2_refuses_what_is_no_region_and_no_time(d):
    identity = '{"region": "127.0.0.1:1/#"}'
    role = '{"AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "-9223372036854775807ms"}'

    def answer(asked):
        return {
            '/latest/api/token': 'session',
            '/latest/dynamic/instance-identity/document': identity,
            '/latest/meta-data/iam/security-credentials/': 'role',
            '/latest/meta-data/iam/security-credentials/role': role,
        }.get(asked.path)

    cloud = Cloud(d, answer)
    variables = {'AWS_EC2_METADATA_DISABLED': None, 'AWS_EC2_METADATA_SERVICE_ENDPOINT': cloud.url}
    expect_error(d, entry('ec2', endpoint=cloud.url, **KEYS), 'is not the name of an AWS region', **variables)
    expect_error(d, entry('ec2', endpoint=cloud.url, region='eu-west-1'), 'have expired already', **variables)
    cloud.stop()


@suite.test
def answers_cannot_keep_everprof_busy(d):
    """A page that leads to itself, and many items without a key, which once took a time that grew by its square."""
    page = json.dumps({'items': [], 'nextPageToken': 'again'})
    cloud = Cloud(d, lambda asked: sample('gce_metadata_token.json') if asked.path.endswith('/token') else page)
    expect_error(d, gce_entry(cloud), 'is the same page again', GCE_METADATA_HOST=cloud.server.address)
    cloud.stop()
    cloud = Cloud(
        d, lambda asked: '<DescribeInstancesResponse><nextToken>again</nextToken></DescribeInstancesResponse>'
    )
    expect_error(d, entry('ec2', endpoint=cloud.url, region='eu-west-1', **KEYS), 'is the same page again')
    cloud.stop()
    cloud, _ = start_openstack(d)
    numbers = iter(range(1000))
    items = json.dumps([0] * 490000)

    def page_of_many(asked):
        if 'floatingips' not in asked.path:
            return None
        links = json.dumps([{'rel': 'next', 'href': f'{cloud.url}{asked.path}?marker={next(numbers)}'}])
        return f'{{"floatingips": {items}, "floatingips_links": {links}}}'

    cloud.trouble = page_of_many
    # The interval of refreshes limits the time for an answer, which may take seconds on a busy machine.
    stack = {'refresh_interval': '30s', 'identity_endpoint': cloud.url + '/identity', **STACK}
    expect_error(d, entry('openstack', role='loadbalancer', **stack), 'take more than 256 MB of memory')
    cloud.stop()
    cloud, _ = start_openstack(d)
    many = json.dumps({'floatingips': [{'port_id': None}] * 150000})
    cloud.trouble = lambda asked: many if 'floatingips' in asked.path else None
    stack['identity_endpoint'] = cloud.url + '/identity'
    e = start(d, entry('openstack', role='loadbalancer', **stack)).ready()
    wait_until('targets', 60, lambda: len(found(e)) == 1)
    e.finish()
    cloud.stop()


@suite.test
def values_of_answers_cannot_add_headers(d):
    role = {'AccessKeyId': 'a', 'SecretAccessKey': 'b', 'Token': 't\r\nX-Injected: 1'}

    def answer(asked):
        assert not asked.headers['X-Injected'], dict(asked.headers)
        return {
            '/latest/api/token': 'session\r\nX-Injected: 1',
            '/latest/meta-data/iam/security-credentials/': 'role',
            '/latest/meta-data/iam/security-credentials/role': json.dumps(role),
        }.get(asked.path)

    cloud = Cloud(d, answer)
    expect_error(
        d,
        entry('ec2', endpoint=cloud.url, region='eu-west-1'),
        'has no access key',
        AWS_EC2_METADATA_DISABLED=None,
        AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url,
    )
    cloud.trouble = lambda asked: json.dumps({'access_token': 'a\rX-Injected: 1', 'expires_in': 3600})
    expect_error(d, gce_entry(cloud), 'the answer has no token', GCE_METADATA_HOST=cloud.server.address)
    cloud.stop()


@suite.test
def tokens_do_not_follow_redirects_to_other_hosts(d):
    """Those of accounts, and those that Consul and Marathon take in headers of their own."""
    box = []

    def answer(asked):
        here = 'http://localhost:' + box[0].server.address.rpartition(':')[2]  # another host than 127.0.0.1
        if asked.path.startswith('/stolen'):
            return 200, '[]'
        if asked.path.endswith('/default/token'):
            return sample('gce_metadata_token.json')
        if asked.path.endswith('/auth/tokens'):
            return (
                201,
                sample('openstack_token_v3.json').replace('http://OPENSTACK', box[0].url),
                {'X_Subject_Token': 'ya29.stack'},
            )
        return 302, '', {'Location': f'{here}/stolen/{asked.host}/{asked.path.split("/")[1]}'}

    box.append(Cloud(d, answer))
    cloud = box[0]
    token = 'ya29.very-secret-token'
    jobs = {
        'gce': gce_entry(cloud),
        'openstack': entry('openstack', role='hypervisor', identity_endpoint=cloud.url, **STACK),
        'consul': '  consul_sd_configs:\n  - ' + json.dumps({'server': cloud.server.address, 'token': token}),
        'marathon': '  marathon_sd_configs:\n  - '
        + json.dumps({'servers': [cloud.url], 'auth_token': token, 'refresh_interval': '1s'}),
    }
    with Environment(d, GCE_METADATA_HOST=cloud.server.address):
        e = Everprof(d, configuration(jobs)).ready()
    wait_until('four redirects', 30, lambda: len({a.path for a in cloud.requests('/stolen')}) == 4)
    for asked in cloud.requests('/stolen'):
        assert not any('ya29.' in v for v in asked.headers.values()), (asked, asked.headers)
    check_secrets(e)
    e.finish()
    cloud.stop()


@suite.test
def mistakes_in_the_configuration_are_named(d):
    for kind, keys, what in (
        ('ec2', {'filters': [{'name': 'x'}]}, 'a filter requires values'),
        ('ec2', {'filters': [{'values': ['x']}]}, 'a filter requires name'),
        ('ec2', {'basic_auth': {'username': 'x'}}, 'has its own kinds of credentials'),
        ('ec2', {'endpoint': 'x'}, 'the URL must begin'),
        ('gce', {'zone': 'x'}, 'gce_sd_config requires project'),
        ('gce', {'project': 'x'}, 'gce_sd_config requires zone'),
        ('azure', {}, 'azure_sd_config requires subscription_id'),
        ('azure', {'subscription_id': 'x'}, 'requires tenant_id, client_id and client_secret'),
        ('azure', {'authentication_method': 'Oauth'}, 'authentication_method must be OAuth'),
        ('azure', {'environment': 'x'}, 'environment must be AzurePublicCloud'),
        ('openstack', {'region': 'x'}, 'requires role: one of hypervisor, instance, loadbalancer'),
        ('openstack', {'role': 'x', 'region': 'x'}, 'role must be one of hypervisor'),
        ('openstack', {'role': 'instance'}, 'openstack_sd_config requires region'),
        (
            'openstack',
            {'role': 'instance', 'region': 'x', 'availability': 'x'},
            'availability must be public, internal or admin',
        ),
    ):
        with open(f'{d}/c.yaml', 'w') as f:
            f.write(configuration({'cloud': entry(kind, **keys)}))
        done = run('check', 'config', f'{d}/c.yaml')
        assert done.returncode and what in done.stdout + done.stderr, (kind, keys, done)
    with open(f'{d}/c.yaml', 'w') as f:
        f.write(configuration({'cloud': entry('ec2', access_key='x', external_id='y')}))
    done = run('check', 'config', f'{d}/c.yaml')
    assert not done.returncode and 'access_key and secret_key are ignored' in done.stderr, done
    assert 'external_id is ignored' in done.stderr, done


suite.main()
