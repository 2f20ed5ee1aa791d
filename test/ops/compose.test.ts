// The compose files by themselves, without a program that reads them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { renderScrapeConfig } from '../../ops/metrics/prometheus-files.ts'
import { parseSettings } from '../../shared/settings.ts'
import {
  checkServices,
  composeFiles,
  composeFolder,
  composeParts,
  findComposeErrors,
  readCompose,
  readSeconds
} from '../support/compose.ts'

const { version } = JSON.parse(readFileSync(join(composeFolder, '../../package.json'), 'utf8'))

for (const name of composeFiles) {
  t.test(`${name} is what the Compose Specification allows`, async t => {
    const project = readCompose(name)
    t.strictSame(findComposeErrors(project), [])
    checkServices(t, project, composeParts.includes(name))
  })
}

t.test('the schema of the Compose Specification refuses what it does not know', async t => {
  const wrong = structuredClone(readCompose('compose.yaml'))
  Object.assign(wrong.services.gateway ?? {}, { stop_grace: '1s' })
  t.match(findComposeErrors(wrong).join(), /services\/gateway must NOT have unevaluated properties/)
})

t.test('a stop leaves time for the whole drain, and what stands before or behind the gateway stops later', async t => {
  const { shutdownTimeoutSeconds, shutdownReadinessGraceSeconds } = parseSettings({})
  const needed = shutdownTimeoutSeconds + shutdownReadinessGraceSeconds + 10
  const gateway = readCompose('compose.yaml').services.gateway
  t.equal(gateway?.environment?.GATEWAY_SHUTDOWN_TIMEOUT_SECONDS, shutdownTimeoutSeconds)
  t.equal(readSeconds(gateway?.stop_grace_period), needed)
  t.equal(readSeconds(readCompose('demo.yaml').services.gateway?.stop_grace_period), needed)
  for (const name of ['nginx', 'caddy', 'haproxy', 'traefik', 'envoy']) {
    const proxy = readCompose(`${name}.yaml`).services[name]
    t.ok(readSeconds(proxy?.stop_grace_period) > needed, name)
    t.equal(proxy?.network_mode, 'service:gateway', `${name} finds the gateway where its site says`)
  }
})

t.test('the image is that of the package', async t => {
  for (const name of ['compose.yaml', 'demo.yaml']) {
    t.equal(readCompose(name).services.gateway?.image, `llm-gateway:\${GATEWAY_VERSION:-${version}}`)
  }
})

t.test('the scrape job is that of ops/prometheus, with another address and key file', async t => {
  const own = parse(readFileSync(join(composeFolder, 'prometheus.yml'), 'utf8'))
  const shipped = parse(renderScrapeConfig('gateway.rules.yml'))
  t.match(own.global, shipped.global)
  t.strictSame(own.rule_files, shipped.rule_files)
  t.equal(own.scrape_configs[0].job_name, shipped.scrape_configs[0].job_name)
  const gateway = readCompose('monitoring.yaml').services.gateway?.environment
  t.strictSame(own.scrape_configs[0].static_configs, [{ targets: [`gateway:${gateway?.GATEWAY_METRICS_PORT}`] }])
})
