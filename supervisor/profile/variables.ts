// The variables that a profile names, and what each may hold: their values are secrets, which the
// supervisor reads once (bridge.md 4.5, providers.md 1).
import { isHeaderValue } from '../../shared/net/header-value.ts'
import type { ProfileAuth, ProviderProfile, TextOrVariable } from '../../shared/profile/profile.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import { FILE_SUFFIX, type SecretVariable } from '../config-file/variable.ts'
import { findServiceAccountProblem } from './service-account.ts'

/** A variable of a profile. Several members may name the same one. */
export interface ProfileVariable extends SecretVariable {
  /** The member that names it, below the profile. Names of headers and parameters are content of the file. */
  readonly place: IssuePath
  /** It is the credential of the profile; otherwise it is found by its name. */
  readonly isCredential?: true
}

export function listVariables(profile: ProviderProfile): ProfileVariable[] {
  const { auth, credentialEnv, proxyCredentialEnv, headers = {}, query = {} } = profile
  const findCredentialProblem = auth?.type === 'query' ? findParameterProblem : findHeaderProblem
  return [
    ...(credentialEnv === undefined
      ? []
      : [
          {
            name: credentialEnv,
            place: ['credential_env'],
            isCredential: true as const,
            findProblem: findCredentialProblem
          }
        ]),
    ...(proxyCredentialEnv === undefined
      ? []
      : [{ name: proxyCredentialEnv, place: ['proxy_credential_env'], findProblem: findProxyProblem }]),
    ...(auth === undefined ? [] : listAuthVariables(auth, profile)),
    ...listEntries(headers).map(name => ({ name, place: ['headers'], findProblem: findHeaderProblem })),
    ...listEntries(query).map(name => ({ name, place: ['query'], findProblem: findParameterProblem }))
  ]
}

/** The names of all variables that profiles may be given by, those of files included. */
export function listVariableNames(profiles: readonly ProviderProfile[]): string[] {
  const names = profiles.flatMap(listVariables).map(({ name }) => name)
  return [...new Set(names)].flatMap(name => [name, `${name}${FILE_SUFFIX}`])
}

function listAuthVariables(auth: ProfileAuth, profile: ProviderProfile): ProfileVariable[] {
  switch (auth.type) {
    case 'header':
    case 'query':
      return []
    case 'oauth2':
      return [
        { name: auth.clientIdEnv, place: ['auth', 'oauth2', 'client_id_env'], findProblem: findLineProblem },
        { name: auth.clientSecretEnv, place: ['auth', 'oauth2', 'client_secret_env'], findProblem: findLineProblem }
      ]
    case 'google_service_account':
      return auth.env === undefined
        ? []
        : [
            {
              name: auth.env,
              place: ['auth', 'google_service_account', 'env'],
              findProblem: value => findServiceAccountProblem(value, profile)
            }
          ]
    case 'aws_sigv4':
      return AWS_VARIABLES
  }
}

const AWS_PLACE = ['auth', 'aws_sigv4']

/** The variables of AWS's own tools. A token belongs to keys that end by themselves. */
const AWS_VARIABLES: ProfileVariable[] = [
  { name: 'AWS_ACCESS_KEY_ID', place: AWS_PLACE, findProblem: findHeaderProblem },
  { name: 'AWS_SECRET_ACCESS_KEY', place: AWS_PLACE, findProblem: findLineProblem },
  { name: 'AWS_SESSION_TOKEN', place: AWS_PLACE, findProblem: findHeaderProblem, isOptional: true }
]

function listEntries(entries: Readonly<Record<string, TextOrVariable>>): string[] {
  return Object.values(entries).flatMap(value => (typeof value === 'string' ? [] : value.env))
}

function findHeaderProblem(value: string): string | undefined {
  return isHeaderValue(value) ? undefined : 'must be one line of text that a header can carry'
}

function findLineProblem(value: string): string | undefined {
  return /\p{Cc}/u.test(value) ? 'must be one line of text' : undefined
}

const findParameterProblem = findLineProblem

function findProxyProblem(value: string): string | undefined {
  return /^[^:\p{Cc}]+:\P{Cc}*$/u.test(value) ? undefined : 'must be user:password'
}
