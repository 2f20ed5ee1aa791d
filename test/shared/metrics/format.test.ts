import t from 'tap'
import { chooseMetricsFormat } from '../../../shared/metrics/format.ts'

t.test('OpenMetrics is chosen where it is wanted at least as much as plain text', async t => {
  const cases: Array<[string | undefined, 'text' | 'openmetrics']> = [
    [undefined, 'text'],
    ['', 'text'],
    ['*/*', 'text'],
    ['text/plain; version=0.0.4', 'text'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text; version=1.0.0; charset=utf-8', 'openmetrics'],
    ['Application/OpenMetrics-Text;Version=1.0.0', 'openmetrics'],
    ['application/openmetrics-text;version=0.0.1', 'text'],
    ['application/openmetrics-text;q=0', 'text'],
    ['application/openmetrics-text;q=broken', 'text'],
    ['application/openmetrics-text;q=0.2, text/plain;q=0.3', 'text'],
    ['text/plain;q=0.5, application/openmetrics-text;q=0.5', 'openmetrics'],
    [
      'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.9,*/*;q=0.1',
      'openmetrics'
    ]
  ]
  for (const [accept, format] of cases) t.equal(chooseMetricsFormat(accept), format, String(accept))
})
