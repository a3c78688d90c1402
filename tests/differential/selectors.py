"""Selectors, one for each thing that Kubernetes' CEL can do, as cases of one device.

The device has the attributes and the capacity that `DEVICE` names. What a selector is worth is not
written here: kube-scheduler says so.
"""

from typing import Final

from tests.differential.words import Json

GPU: Final = "gpu.example.com"
OWN: Final = f"device.attributes['{GPU}']"
DEVICE: Final[Json] = {
    "name": "d0",
    "attributes": {
        "model": {"string": "a100"},
        "address": {"string": "10.1.2.3"},
        "made": {"string": "2024-05-06T07:08:09.5Z"},
        "numa": {"int": 3},
        "healthy": {"bool": True},
        "driverVersion": {"version": "1.2.3"},
    },
    "capacity": {"memory": {"value": "80Gi"}},
}

TEXTS: Final = """
'abcabc'.find('b.') == 'bc'
'abc'.find('x') == ''
'abc'.find('') == ''
'key=value'.find('([a-z]+)=([a-z]+)') == 'key=value'
'a1b22'.findAll('[0-9]+') == ['1', '22']
'a1b22'.findAll('[0-9]+', 1) == ['1']
'a1b22'.findAll('[0-9]+', 0) == []
'aab'.findAll('a*') == ['aa', '']
'baac'.findAll('a*') == ['', 'aa', '']
'abc'.findAll('') == ['', '', '', '']
'x(y)'.findAll('[(](y)[)]') == ['(y)']
'x[y]'.find('[]y]+') == 'y]'
'ab'.findAll('(?P<n>a)(b)?') == ['ab']
'a.b'.find('\\\\Q.\\\\E') == '.'
true || 'a'.matches('[')
true || 'a'.find('[') == ''
'a'.find('[') == ''
'%d of %s'.format([1, 'x']) == '1 of x'
'%s'.format([1.5]) == '1.5'
'%s'.format([1e30]) == '1e+30'
'%s'.format([true]) == 'true'
'%s'.format([[1, 'a', 2.5]]) == '[1, "a", 2.500000]'
'%s'.format([{'b': 1, 'a': [null]}]) == '{"a":[null], "b":1}'
'%.2f'.format([1234567.891]) == '1,234,567.89'
'%f'.format([1.5]) == '1.500000'
'%e'.format([1052.032911275]) == '1.052033\u00d710\u2070\u00b3'
'%.3e'.format([0.00123]) == '1.230000\u00d710\u207b\u2070\u00b3'
'%b %x %X %o'.format([5, 255, 255, 8]) == '101 ff FF 10'
'%b'.format([true]) == '1'
'%x'.format(['hi']) == '6869'
'100%%'.format([]) == '100%'
'%d'.format([1, 2]) == '1'
'%d %d'.format([1]) == '1'
'%q'.format([1]) == '1'
'%d'.format(['a']) == 'a'
true || '%d'.format([1, 2]) == ''
'%s'.format([duration('90s')]) == '90s'
'%s'.format([timestamp('2024-01-01T00:00:00Z')]) == '2024-01-01T00:00:00Z'
'%f'.format([1]) == '1.000000'
' %e'.format(['Infinity']) == '      \u221e'
'%f'.format(['NaN']) == 'NaN'
'%.1f'.format([-1234.56]) == '-1,234.6'
'%.0f'.format([2.5]) == '2'
strings.quote('a"b') == '"a\\\\"b"'
strings.quote('a') == '"a"'
'abc'.charAt(3) == ''
'abc'.charAt(4) == ''
'abcb'.indexOf('b', 9) == -1
'abcb'.indexOf('', 9) == 4
'abcb'.indexOf('b', -1) == 1
'abcb'.lastIndexOf('b', 2) == 1
'abcb'.lastIndexOf('b', 9) == -1
'abcb'.lastIndexOf('') == 4
'a,b,c'.split(',', 2) == ['a', 'b,c']
'a,b,c'.split(',', 0) == []
'abc'.split('') == ['a', 'b', 'c']
'aaa'.replace('a', 'b', 2) == 'bba'
'aaa'.replace('a', 'b', -1) == 'bbb'
' \\tx\\n'.trim() == 'x'
'AbC'.lowerAscii() == 'abc'
['a', 'b'].join('-') == 'a-b'
'abc'.substring(1, 2) == 'b'
'abc'.substring(2, 1) == ''
'abc'.reverse() == 'cba'
"""
LISTS: Final = """
[1, 2, 3].slice(1, 2) == [2]
[1, 2, 3].slice(2, 1) == []
[1, 2, 3].slice(0, 4) == []
[[1], [2, 3]].flatten() == [1, 2, 3]
[[[1]], [[2]]].flatten(2) == [1, 2]
[[[1]]].flatten() == [[1]]
[[1]].flatten(-1) == [1]
[3, 1, 2].sort() == [1, 2, 3]
['b', 'a'].sort() == ['a', 'b']
[dyn(1), dyn('a')].sort() == [1]
[3, 1, 2].sortBy(e, -e) == [3, 2, 1]
['bb', 'a'].sortBy(e, e.size()) == ['a', 'bb']
lists.range(3) == [0, 1, 2]
lists.range(-1) == []
[1, 2].reverse() == [2, 1]
[1, 2, 1].distinct() == [1, 2]
[1, 2].first().value() == 1
[1, 2].last().value() == 2
[1].slice(1, 1).first().hasValue()
[optional.of(1), optional.none()].unwrapOpt() == [1]
optional.unwrap([optional.of(1), optional.none()]) == [1]
[1, 2].isSorted()
[2, 1].isSorted()
[1, 2].sum() == 3
[1.5, 2.5].sum() == 4.0
[1, 2].max() == 2
[2, 1].min() == 1
[1, 2].slice(0, 0).min() == 0
[duration('1s'), duration('2s')].sum() == duration('3s')
[1, 2].indexOf(2) == 1
[1, 2, 2].lastIndexOf(2) == 2
[1, 2].indexOf('a') == -1
[1, 2].includes(2)
dyn('a').includes('a')
sets.contains([1, 2], [2])
sets.equivalent([1, 2], [2, 1, 1])
sets.intersects([1], [2])
sets.contains([1], ['a'])
[1, 'a'].size() == 2
[1, dyn('a')].size() == 2
{1: 'a', 'b': 2}.size() == 2
{'a': 1, 'b': 'x'}.size() == 2
[1, 2.0].size() == 2
[1, 2].all(i, v, i < v)
[1, 2].exists(i, v, i == 1 && v == 2)
[1, 2].existsOne(i, v, v == 2)
[1, 2].exists_one(i, v, v == 2)
[1, 2].transformList(i, v, i + v) == [1, 3]
[1, 2].transformList(i, v, i > 0, v) == [2]
{'a': 1}.transformList(k, v, k) == ['a']
{'a': 1}.all(k, v, k == 'a' && v == 1)
{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}
{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}
{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}
{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}
[1, 2].all(v, v, true)
[1, 2].existsOne(v, v == 2)
true || int('x') == 1
true || duration('x') == duration('1s')
2u < 3
1.5 >= 1
[1, 2].exists(v, v == OWN.gone)
OWN.all(k, v, k != 'gone')
OWN.exists(k, v, k == 'numa' && v == 3)
device.capacity['gpu.example.com'].all(k, v, v.isGreaterThan(quantity('1Gi')))
[1].map(x, x + 1) == [2]
[1, 2].map(x, x > 1, x * 2) == [4]
[1, 2].filter(x, x > 1) == [2]
optional.of(1).optMap(x, x + 1).value() == 2
optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2
optional.ofNonZeroValue('').hasValue()
[1, 2][?5].orValue(7) == 7
"""
NETWORKS: Final = """
ip('10.0.0.1') == ip('10.0.0.1')
ip('10.0.0.1') == ip('10.0.0.2')
string(ip('2001:DB8::1')) == '2001:db8::1'
isIP('10.0.0.256')
isIP('10.0.0.01')
isIP('fe80::1%eth0')
isIP('::ffff:10.0.0.1')
isIP('::1')
isIP('')
ip('x') == ip('::')
ip.isCanonical('2001:DB8::1')
ip.isCanonical('2001:db8::1')
ip('10.0.0.1').family() == 4
ip('::1').family() == 6
ip('0.0.0.0').isUnspecified()
ip('127.0.0.9').isLoopback()
ip('224.0.0.7').isLinkLocalMulticast()
ip('ff02::1').isLinkLocalMulticast()
ip('ff12::1').isLinkLocalMulticast()
ip('ff05::1').isLinkLocalMulticast()
ip('169.254.1.1').isLinkLocalUnicast()
ip('febf::1').isLinkLocalUnicast()
ip('192.168.0.1').isGlobalUnicast()
ip('255.255.255.255').isGlobalUnicast()
ip('ff00::1').isGlobalUnicast()
ip('2001:db8::1').isGlobalUnicast()
cidr('10.0.0.0/8').containsIP(OWN.address)
cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))
cidr('10.0.0.0/8').containsIP('x')
cidr('10.0.0.0/8').containsIP('::1')
cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')
cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))
cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')
cidr('10.1.2.3/8') == cidr('10.0.0.0/8')
cidr('10.1.2.3/8').ip() == ip('10.1.2.3')
cidr('10.0.0.0/8').prefixLength() == 8
string(cidr('10.0.0.0/8')) == '10.0.0.0/8'
isCIDR('10.0.0.0/33')
isCIDR('10.0.0.0/08')
isCIDR('::/0')
isCIDR('10.0.0.0')
url('https://user@example.com:80/a%20b?x=1&x=2&y#f').getHost() == 'example.com:80'
url('https://user@example.com:80/a%20b?x=1&x=2&y#f').getHostname() == 'example.com'
url('https://user@example.com:80/a%20b?x=1&x=2&y#f').getPort() == '80'
url('https://user@example.com:80/a%20b?x=1&x=2&y#f').getEscapedPath() == '/a%20b'
url('https://example.com/a b').getEscapedPath() == '/a%20b'
url('https://user@example.com:80/a%20b?x=1&x=2&y#f').getQuery() == {'x': ['1', '2'], 'y': ['']}
url('HTTPS://example.com').getScheme() == 'https'
url('https://[::1]:80/').getHostname() == '::1'
url('/path').getHost() == ''
url('https://a.example/x') == url('https://a.example/x')
isURL('https://example.com:x/')
isURL('example.com')
isURL('/path')
isURL('')
isURL('../x')
isURL('mailto:a@b.c')
isURL('https://exa mple.com')
isURL('https://example.com/%zz')
isURL('1http://x')
isURL(':x')
format.dns1123Label().validate('a-b').hasValue()
format.dns1123Label().validate('A').hasValue()
format.dns1123Label().validate('a.b').hasValue()
format.dns1123Subdomain().validate('a.b').hasValue()
format.dns1035Label().validate('1a').hasValue()
format.qualifiedName().validate('a.b/C_d').hasValue()
format.qualifiedName().validate('a/b/c').hasValue()
format.dns1123LabelPrefix().validate('abc-').hasValue()
format.dns1123SubdomainPrefix().validate('a.b-').hasValue()
format.dns1035LabelPrefix().validate('ab-').hasValue()
format.labelValue().validate('').hasValue()
format.labelValue().validate('-a').hasValue()
format.uri().validate('https://x').hasValue()
format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
format.uuid().validate('123e4567').hasValue()
format.byte().validate('aGVsbG8=').hasValue()
format.byte().validate('aGVsbG8').hasValue()
format.date().validate('2021-02-30').hasValue()
format.date().validate('2021-02-03').hasValue()
format.datetime().validate('2021-01-01T00:00:00Z').hasValue()
format.datetime().validate('2021-01-01T24:00:00Z').hasValue()
format.named('uuid').hasValue()
format.named('gone').hasValue()
format.named('uuid').value() == format.uuid()
format.named('byte').value().validate('!').value().size() == 1
"""
TIMES: Final = """
duration('90s') == duration('1m30s')
duration('1.5h') > duration('1h')
duration('-1s') < duration('0')
duration('1x') == duration('1s')
true || duration('x') == duration('1s')
duration(OWN.model) == duration('1s')
duration('1h').getMinutes() == 60
duration('1500ms').getMilliseconds() == 1500
duration('-90s').getMinutes() == -1
string(duration('1h1m')) == '3660s'
string(duration('1500ms')) == '1.5s'
timestamp(OWN.made) > timestamp('2024-01-01T00:00:00Z')
timestamp(OWN.made) - timestamp('2024-05-06T07:08:09Z') == duration('500ms')
timestamp(OWN.made) + duration('24h') == timestamp('2024-05-07T07:08:09.5Z')
timestamp(OWN.made).getFullYear() == 2024
timestamp(OWN.made).getMonth() == 4
timestamp(OWN.made).getDate() == 6
timestamp(OWN.made).getDayOfMonth() == 5
timestamp(OWN.made).getDayOfWeek() == 1
timestamp(OWN.made).getDayOfYear() == 126
timestamp(OWN.made).getHours() == 7
timestamp(OWN.made).getHours('02:00') == 9
timestamp(OWN.made).getHours('-02:00') == 5
timestamp(OWN.made).getHours('Europe/Berlin') == 9
timestamp(OWN.made).getHours('Nowhere/Else') == 9
timestamp(OWN.made).getMilliseconds() == 500
timestamp('2024-05-06') > timestamp('2024-01-01T00:00:00Z')
timestamp('2024-05-06T07:08:09+02:00') == timestamp('2024-05-06T05:08:09Z')
timestamp(0) == timestamp('1970-01-01T00:00:00Z')
int(timestamp('1970-01-01T00:01:00Z')) == 60
string(timestamp(OWN.made)) == OWN.made
timestamp(OWN.model) > timestamp(0)
"""
NUMBERS: Final = """
quantity('1Gi').add(quantity('1Gi')).compareTo(quantity('2Gi')) == 0
quantity('1Gi').sub(1).isLessThan(quantity('1Gi'))
quantity('1500m').asApproximateFloat() == 1.5
quantity('1500m').isInteger()
quantity('1k').asInteger() == 1000
sign(quantity('-1')) == -1
isQuantity('1x')
quantity('1') == quantity('1000m')
semver('1.2.3').major() == 1
semver('v1.2', true).minor() == 2
isSemver('1.2')
isSemver('1.2', true)
semver('1.2.3') == semver('1.2.3+build')
OWN.driverVersion.isGreaterThan(semver('1.2.2'))
string(1.5) == '1.5'
string(1.0) == '1'
string(1e21) == '1e+21'
string(1e-7) == '1e-07'
string(b'abc') == 'abc'
string(true) == 'true'
int('12') == 12
int(1.9) == 1
int('x') == 1
uint(3) == 3u
double('1.5') == 1.5
1 / 0 == 1
5 % -3 == 2
-5 / 2 == -2
9223372036854775807 + 1 == 0
1 == 1.0
1 < 1.5
type(1) == int
1u + 1 == 2u
'a' + 'b' == 'ab'
'a' < 'b'
b'a' < b'b'
false < true
null == null
device.driver in {'gpu.example.com': 1}
device.allowMultipleAllocations ? false : true
!(OWN.model in ['a100', 'h100'])
OWN.model.startsWith('a') && OWN.model.endsWith('0') && OWN.model.contains('10')
size(OWN.model) == 4 && OWN.model.size() == 4
OWN['model'] == 'a100'
OWN[?'gone'].hasValue()
cel.bind(x, OWN.numa, x * x == 9)
OWN.model == 3
OWN.numa > 'a'
type('a') == string
OWN.numa in [1, 2, 3]
'numa' in OWN
OWN.?gone.orValue(5) == 5
OWN.gone == 1 || true
OWN.gone == 1 && false
has(OWN.numa) && !has(OWN.gone)
device.?attributes['x'].hasValue()
"""
REFUSED: Final = """
authorizer.path('/x').check('get').allowed()
now() > timestamp(0)
math.greatest(1, 2) == 2
base64.encode(b'a') == 'x'
device.attributes
self.x
"""


def expressions() -> list[str]:
    tables = (TEXTS, LISTS, NETWORKS, TIMES, NUMBERS, REFUSED)
    lines = [line for table in tables for line in table.strip().splitlines()]
    return [line.replace("OWN", OWN) for line in lines]


def case(expression: str) -> Json:
    """One pod, one node, one device, and a claim with this selector."""
    wanted = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    wanted["selectors"] = [{"cel": {"expression": expression}}]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec: Json = {"driver": GPU, "nodeName": "n", "pool": pool, "devices": [DEVICE]}
    named = {"name": "d", "resourceClaimName": "claim"}
    return {
        "id": expression,
        "pod": {
            "metadata": {"name": "p", "namespace": "default", "uid": "u"},
            "spec": {"containers": [{"name": "c"}], "resourceClaims": [named]},
            "status": {},
        },
        "nodes": [
            {
                "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
            }
        ],
        "deviceClasses": [{"metadata": {"name": "gpu"}, "spec": {}}],
        "resourceClaims": [
            {
                "metadata": {"name": "claim", "namespace": "default", "uid": "c"},
                "spec": {"devices": {"requests": [{"name": "r", "exactly": wanted}]}},
            }
        ],
        "resourceSlices": [{"metadata": {"name": "s"}, "spec": spec}],
    }


def outcome(answer: Json) -> str:
    """holds, differs, fails where the device could not be judged, or does not compile."""
    error = answer.get("error")
    if error:
        return "does not compile" if "compile error" in error else "fails"
    return "holds" if answer["feasible"] else "differs"
