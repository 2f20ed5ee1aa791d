// The rules between the members that say how a provider is called (providers.md 1).
import { isExternalKind } from '../../shared/profile/profile-routes.ts'
import type { ProviderKind } from '../../shared/support/support-vocabulary.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import type { ProfileContent, ProfileContentV3 } from './schema.ts'

/** The header that carries the credential of a kind where `auth` names no other. */
const CREDENTIAL_HEADERS: Readonly<Record<ProviderKind, string>> = {
  native: 'authorization',
  chat_compatible: 'authorization',
  messages_compatible: 'x-api-key',
  content_compatible: 'x-goog-api-key'
}

/** The headers that a signature of AWS adds beside `authorization`. */
const AWS_HEADERS = /^x-amz-(?:date|security-token|content-sha256)$/

/** The native upstream is authorized and bounded as the settings say (bridge.md 7.2). */
const EXTERNAL_MEMBERS = [
  'auth',
  'timeouts',
  'limits',
  'connections',
  'retries'
] as const satisfies readonly (keyof ProfileContentV3)[]

/** Returns the place below a profile that breaks a rule; undefined when all are kept. */
export function findCallProblem(content: ProfileContent): IssuePath | undefined {
  // Files of earlier versions have none of these members.
  const profile: Partial<ProfileContentV3> = content
  const problem =
    findKindProblem(content) ??
    findNetworkProblem(profile, content.provider_kind) ??
    findCredentialProblem(profile) ??
    findStaticProblem(profile, content.provider_kind)
  return problem === undefined ? undefined : [problem]
}

function findKindProblem(profile: ProfileContent): string | undefined {
  return isExternalKind(profile.provider_kind) ? undefined : EXTERNAL_MEMBERS.find(member => member in profile)
}

function findNetworkProblem(profile: Partial<ProfileContentV3>, kind: ProviderKind): string | undefined {
  const { client_cert_file, client_key_file, proxy = isExternalKind(kind) ? 'none' : 'environment' } = profile
  if (client_cert_file === undefined && client_key_file !== undefined) return 'client_cert_file'
  if (client_cert_file !== undefined && client_key_file === undefined) return 'client_key_file'
  return profile.proxy_credential_env !== undefined && proxy === 'none' ? 'proxy_credential_env' : undefined
}

/** A header or a parameter carries the profile's credential; the other forms have one of their own. */
function findCredentialProblem({ auth, credential_env }: Partial<ProfileContentV3>): string | undefined {
  if (auth === undefined) return undefined
  const carriesCredential = auth.header !== undefined || auth.query !== undefined
  const isNamed = credential_env !== undefined && credential_env !== null
  return carriesCredential === isNamed ? undefined : 'credential_env'
}

/** What is sent with every call must not stand where the credential stands. */
function findStaticProblem(profile: Partial<ProfileContentV3>, kind: ProviderKind): string | undefined {
  const { auth, headers = {}, query = {} } = profile
  const carriesHeader = createHeaderTest(auth, kind)
  if (Object.keys(headers).some(name => carriesHeader(name.toLowerCase()))) return 'headers'
  return auth?.query !== undefined && Object.hasOwn(query, auth.query) ? 'query' : undefined
}

function createHeaderTest(auth: ProfileContentV3['auth'], kind: ProviderKind): (name: string) => boolean {
  if (auth === undefined) return name => name === CREDENTIAL_HEADERS[kind]
  if (auth.query !== undefined) return () => false
  if (auth.aws_sigv4 !== undefined) return name => name === 'authorization' || AWS_HEADERS.test(name)
  const header = (auth.header ?? 'authorization').toLowerCase()
  return name => name === header
}
