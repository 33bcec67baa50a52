// SPDX-License-Identifier: Apache-2.0
// The sign-in form, which is shown when the server requires authentication. The
// server answers with a cookie that scripts cannot read; the password is not
// kept.
import { useState } from 'preact/hooks';
import { signIn } from '../api/client.ts';
import type { Context } from '../state/context.ts';

export function SignIn({ refresh }: Context) {
  const [token, setToken] = useState(false);
  const [user, setUser] = useState('');
  const [secret, setSecret] = useState('');
  const [failure, setFailure] = useState('');
  const [busy, setBusy] = useState(false);
  const send = (e: Event): void => {
    e.preventDefault();
    setBusy(true);
    setFailure('');
    signIn(token ? null : user, secret)
      .then(refresh)
      .catch((x: Error) => setFailure(x.message))
      .finally(() => setBusy(false));
  };

  return (
    <form class="signin" onSubmit={send}>
      <h2>Sign in</h2>
      {/* Password managers keep a secret under a name: that of a token is "token". */}
      {token ? (
        <input
          class="unseen"
          name="username"
          autocomplete="username"
          value="token"
          readOnly
          tabIndex={-1}
          aria-hidden="true"
        />
      ) : (
        <label>
          User{' '}
          <input
            name="username"
            autocomplete="username"
            required
            value={user}
            onInput={e => setUser(e.currentTarget.value)}
          />
        </label>
      )}
      <label>
        {token ? 'Token' : 'Password'}{' '}
        <input
          type="password"
          name="password"
          autocomplete="current-password"
          required
          value={secret}
          onInput={e => setSecret(e.currentTarget.value)}
        />
      </label>
      <div class="actions">
        <button type="submit" disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
        <button type="button" class="plain" onClick={() => setToken(!token)}>
          {token ? 'With user and password' : 'With a token'}
        </button>
      </div>
      {failure && (
        <div class="notice bad" role="alert">
          {failure}
        </div>
      )}
      {location.protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(location.hostname) && (
        <p class="notice warn">This page is not encrypted: others in the network can read what you enter.</p>
      )}
    </form>
  );
}
