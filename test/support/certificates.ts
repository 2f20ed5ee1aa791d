// A private authority that issues certificates while a test runs. `openssl` writes them: node can only read some.

import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Owner } from './owner.ts'
import { createTemporaryFolder } from './temporary.ts'

export interface Issued {
  cert: string
  key: string
  certFile: string
  keyFile: string
}

export interface IssueOptions {
  /** The common name; unique among those of the authority. */
  name: string
  /** Names and addresses, such as `DNS:up.example`; those of this machine unless given. */
  hosts?: readonly string[]
  /** Days from now; negative for one that has expired. 30 unless given. */
  days?: number
}

export interface Authority {
  /** The certificate of the authority. */
  cert: string
  certFile: string
  /** Issues a certificate for servers and clients. */
  issue(options: IssueOptions): Issued
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
const DAY_MS = 86_400_000

/** Creates an authority in a folder that is removed with the test. */
export function createAuthority(t: Owner, name = 'test authority'): Authority {
  const folder = createTemporaryFolder(t)
  const file = (path: string): string => join(folder, path)
  const run = (...args: string[]): void => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr}`)
  }
  run('req', '-x509', ...KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', `/CN=${name}`, '-days', '30')
  writeFileSync(file('index.txt'), '')
  writeFileSync(
    file('ca.cnf'),
    [
      '[ca]\ndefault_ca = own',
      '[own]\ndatabase = index.txt\nnew_certs_dir = .\nrand_serial = yes\ndefault_md = sha256\npolicy = any\nunique_subject = no',
      '[any]\ncommonName = supplied\n'
    ].join('\n')
  )
  return {
    cert: readFileSync(file('ca.pem'), 'utf8'),
    certFile: file('ca.pem'),
    issue({ name: subject, hosts = ['IP:127.0.0.1', 'DNS:localhost'], days = 30 }) {
      const id = subject.replaceAll(/\W/g, '-')
      const extensions = file(`${id}.ext`)
      appendFileSync(extensions, `subjectAltName = ${hosts.join(', ')}\nextendedKeyUsage = serverAuth, clientAuth\n`)
      run('req', '-new', ...KEY, '-keyout', `${id}.key`, '-out', `${id}.csr`, '-subj', `/CN=${subject}`)
      const end = Date.now() + days * DAY_MS
      const period = ['-startdate', writeDate(end - 60 * DAY_MS), '-enddate', writeDate(end)]
      const files = ['-in', `${id}.csr`, '-out', `${id}.pem`, '-extfile', extensions]
      run('ca', '-batch', '-notext', '-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key', ...period, ...files)
      const [certFile, keyFile] = [file(`${id}.pem`), file(`${id}.key`)]
      return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
    }
  }
}

/** As `20261129131415Z`. */
function writeDate(ms: number): string {
  return `${new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`
}
