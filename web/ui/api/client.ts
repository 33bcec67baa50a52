// SPDX-License-Identifier: Apache-2.0
// Sends requests to the API, and describes every failure as a Problem that says
// what to do.
import type { Envelope, Line, UploadedFile } from './answer.ts';

export interface Request {
  /** What the answer is for: one answer per key is kept. */
  key: string;
  path: string;
  params: [string, string][];
  /** The answer is a text, not JSON. */
  plain?: boolean;
}

export interface Answer<T> {
  data: T;
  warnings: string[];
  headers: Headers;
}

/** A failure, as the page shows it. */
export class Problem extends Error {
  constructor(
    /** HTTP status; 0: the server cannot be reached; 1: the answer is not JSON. */
    readonly status: number,
    message: string,
    /** Seconds after which to try again, or 0. */
    readonly retry: number,
  ) {
    super(message);
  }

  /** Whether another failure says the same. */
  readonly isSame = (other: Problem): boolean => other.status === this.status && other.message === this.message;
}

/** The folder of the server's pages: the path without its last segment. */
export function base(): string {
  return location.pathname.slice(0, location.pathname.lastIndexOf('/') + 1);
}

export function urlOf(r: Request): string {
  const params = new URLSearchParams(r.params);
  const text = params.toString();

  return `${base()}${r.path}${text ? `?${text}` : ''}`;
}

/** What an answer with an error says. */
export function problemOf(response: Response, text: string): Problem {
  const retry = Number(response.headers.get('Retry-After')) || 0;
  let message = text.slice(0, 500) || response.statusText;

  try {
    const body = JSON.parse(text) as Partial<Envelope<unknown>>;
    if (typeof body.error === 'string') message = body.error;
  } catch {
    // An answer of a proxy, perhaps: shown as it is.
  }
  return new Problem(response.status, message, retry);
}

/**
 * Headers of every request. The name of the query also tells the server that a
 * script asks: a browser would ask for a password by itself otherwise.
 */
function headersOf(id: string): Record<string, string> {
  return { 'X-Everprof-Query': id || 'ui' };
}

/** Fetch a path that has no JSON answer. Throws Problem, or the signal's AbortError. */
export async function fetchPath(url: string, options: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { ...options, headers: { ...headersOf(''), ...options.headers } });

  if (!response.ok) throw problemOf(response, await response.text());
  return response;
}

/** Base64 of a text in UTF-8. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** Begin a session: with a user's password, or with a token if `user` is null. */
export async function signIn(user: string | null, secret: string): Promise<void> {
  const value = user === null ? `Bearer ${secret}` : `Basic ${base64(`${user}:${secret}`)}`;

  try {
    await fetchPath(`${base()}api/v1/session/begin`, { method: 'POST', headers: { Authorization: value } });
  } catch (e) {
    if (e instanceof Problem && e.status === 401)
      throw new Problem(401, user === null ? 'This token is not valid.' : 'User or password is wrong.', 0);
    throw e;
  }
}

/** End the session. */
export async function signOut(): Promise<void> {
  await fetchPath(`${base()}api/v1/session/end`, { method: 'POST' });
}

/** Upload a file to look at. Throws Problem. */
export async function uploadFile(file: File): Promise<UploadedFile> {
  const url = `${base()}api/v1/adhoc?name=${encodeURIComponent(file.name)}`;
  const response = await fetchPath(url, { method: 'POST', body: file });

  return ((await response.json()) as Envelope<UploadedFile>).data;
}

/** Keep an uploaded file for some time from now on. Throws Problem. */
export async function keepFile(id: string, time: string): Promise<void> {
  await fetchPath(`${base()}api/v1/adhoc/${id}?keep=${time}`, { method: 'POST' });
}

/** Remove an uploaded file. Throws Problem. */
export async function removeFile(id: string): Promise<void> {
  await fetchPath(`${base()}api/v1/adhoc/${id}`, { method: 'DELETE' });
}

/** Ask the API. Throws Problem, or the signal's AbortError. */
export async function ask<T>(r: Request, signal: AbortSignal, id: string): Promise<Answer<T>> {
  let response: Response;
  let text: string;

  try {
    response = await fetch(urlOf(r), { signal, headers: headersOf(id) });
    text = await response.text();
  } catch (e) {
    if (signal.aborted) throw e;
    throw new Problem(0, 'the server cannot be reached', 5);
  }
  if (!response.ok) throw problemOf(response, text);
  if (r.plain) {
    const warning = response.headers.get('X-Everprof-Warning');
    return { data: text as T, warnings: warning ? [warning] : [], headers: response.headers };
  }
  try {
    const body = JSON.parse(text) as Envelope<T>;
    return { data: body.data, warnings: body.warnings ?? [], headers: response.headers };
  } catch {
    throw new Problem(1, 'the answer is cut off or is not JSON', 0);
  }
}

/** The profiles of a selector from one time to another, both included, in milliseconds. `more` says which of them. */
export async function profilesBetween(
  query: string,
  from: number,
  to: number,
  signal: AbortSignal,
  more: [string, string][] = [],
): Promise<Line[]> {
  const params: [string, string][] = [['query', query], ['from', String(from)], ['to', String(to)], ...more];

  return (await ask<Line[]>({ key: 'between', path: 'api/v1/query_range', params }, signal, '')).data;
}
