// Proves that the files which a profile names can be used, so that a mistake stops the start instead
// of failing every call (providers.md 1). The workers read them again when they change.
import { checkKeyPair, type Refuse, readCertificates } from '../../shared/pem.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import { readLastingText } from '../files/pem-files.ts'
import type { ReferenceProblem } from './secrets.ts'
import { findServiceAccountProblem } from './service-account.ts'

const ACCOUNT_FILE = 'auth.google_service_account.file'

/** Returns what is wrong with the files of a profile, by member. */
export function findFileProblems(profile: ProviderProfile): ReferenceProblem[] {
  const problems: ReferenceProblem[] = []
  const refuse: Refuse = (member, expectation) => problems.push({ place: member.split('.'), explanation: expectation })
  checkAuthorities(profile, refuse)
  checkClientCertificate(profile, refuse)
  checkServiceAccount(profile, refuse)
  return problems
}

function checkAuthorities({ caFile }: ProviderProfile, refuse: Refuse): void {
  const text = readLastingText('ca_file', caFile, refuse)
  // Node skips what it cannot read in a bundle without an error, and then no certificate would be trusted.
  if (text !== undefined && readCertificates(text).length === 0) {
    refuse('ca_file', 'must name a file with nothing but valid certificates in PEM form')
  }
}

function checkClientCertificate({ clientCertFile, clientKeyFile }: ProviderProfile, refuse: Refuse): void {
  const [certSetting, keySetting] = ['client_cert_file', 'client_key_file']
  const cert = readLastingText(certSetting, clientCertFile, refuse)
  const key = readLastingText(keySetting, clientKeyFile, refuse)
  if (cert !== undefined && key !== undefined) checkKeyPair({ certSetting, cert, keySetting, key }, refuse)
}

function checkServiceAccount(profile: ProviderProfile, refuse: Refuse): void {
  const { auth } = profile
  if (auth?.type !== 'google_service_account') return
  const text = readLastingText(ACCOUNT_FILE, auth.file, refuse)
  const expectation = text === undefined ? undefined : findServiceAccountProblem(text, profile)
  if (expectation !== undefined) refuse(ACCOUNT_FILE, expectation)
}
